// What the calls of one Collective share, and how its ranks agree.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "aggregation/call_fingerprint.hpp"
#include "aggregation/collective.hpp"
#include "aggregation/engines/engine_set.hpp"
#include "aggregation/known_disjoint.hpp"
#include "aggregation/node_group.hpp"
#include "aggregation/region_tables.hpp"
#include "aggregation/store_choice.hpp"
#include "plan/planner.hpp"
#include "storage/formats/writer_lock.hpp"

namespace weir::aggregation {

struct CollectiveState {
  MPI_Comm communicator = MPI_COMM_NULL;
  int rank = 0;
  int ranks = 1;
  CollectiveSettings settings;
  std::unique_ptr<NodeGroup> group;
  std::unique_ptr<plan::Planner> planner;  // of this rank; keeps the plans of requests
  std::shared_ptr<EngineSet> engines;
  RegionTables region_tables;
  StoreChoices stores;
  std::uint64_t arrays = 0;   // opened so far: numbers them, alike on all ranks
  std::uint64_t kinds = 0;    // of arrays, given so far by this rank: OpenArray::kind()
  std::int64_t requests = 0;  // agreed on so far, the same on every rank
  // A deadline passed or MPI failed: the ranks do not know where they are.
  bool broken = false;
  Request* current = nullptr;  // under way
  CollectiveFigures figures;   // of the last that ended
  std::string notice;          // for people: what is not as it was asked for; "" when all is
  storage::WriterLocks locks;  // of files that this rank writes for all
  KnownDisjoint disjoint;      // explicit distributions, for this rank's own boxes
};

// For a Collective that is broken.
[[nodiscard]] Error broken_collective();

// Marks the state as broken when this error ends all communication.
void note_broken(CollectiveState& state, const Error& error);

// Collective; each of these marks the state as broken when its deadline passes or MPI fails.

// `mine` is how a step went on this rank. Every rank gets the error of the lowest that failed.
// `unstored`: as Agreement::start() takes it.
[[nodiscard]] Status agree_on(CollectiveState& state, const Status& mine,
                              const CallFingerprint& fingerprint, std::int64_t unstored = 0);
// Rank 0's text to all. `what` is for the error of a missed deadline.
[[nodiscard]] Status share(CollectiveState& state, std::string& text, const char* what);
// What rank 0 alone finds, as the answer of all ranks: a text, or an error. All ranks agree first
// to make this call, for which `possible` is what this rank found; where they have done so for the
// caller, `asked` is what they agreed by. `find` is called on rank 0 alone; `what` as above.
[[nodiscard]] Result<std::string> ask_rank_0(CollectiveState& state, const Asked* asked,
                                             const Status& possible,
                                             const CallFingerprint& fingerprint,
                                             const std::function<Result<std::string>()>& find,
                                             const char* what);
// Gives every rank what rank 0 has found already, where all have agreed to ask it.
[[nodiscard]] Result<std::string> told_by_rank_0(CollectiveState& state,
                                                 const Result<std::string>& found,
                                                 const char* what);
// All ranks' numbers at rank 0, one rank's after the other's; nothing on the others. However many
// there are: they go in rounds of at most `most_together` of all ranks, or of one of each rank
// where there are more ranks. Where rank 0 has no memory for them, all ranks get its error.
inline constexpr std::int64_t most_gathered_together = std::int64_t{1} << 27;
[[nodiscard]] Result<std::vector<std::int64_t>> gather_at_rank_0(
    CollectiveState& state, const std::vector<std::int64_t>& mine, const char* what,
    std::int64_t most_together = most_gathered_together);
// Decides which of the ranks that share an open file makes it durable. They call this together, in
// one order, when all that was to be written is written.
[[nodiscard]] storage::SyncedHere begin_sync(CollectiveState& state);
// Whether the error says that bytes which had been written could not be made durable.
[[nodiscard]] bool tells_of_loss(const Error& error);
// On all ranks, with the outcome that they agreed on: a rank whose bytes another one was to make
// durable learns here that they are lost.
void learn_losses(CollectiveState& state, const Status& agreed);
// Closes what this rank was passed of a file and did not need, when the file is closed or a step of
// it has failed.
void forget_descriptors(CollectiveState& state, std::uint64_t file_number);

// Waits for the request under way, if there is one; its outcome stays with it.
void end_current(CollectiveState& state);

}  // namespace weir::aggregation
