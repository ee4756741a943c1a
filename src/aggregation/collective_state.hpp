// The state that the calls of one Collective share, and the agreement of its ranks.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "aggregation/collective.hpp"
#include "aggregation/engines/engine_set.hpp"
#include "aggregation/known_disjoint.hpp"
#include "aggregation/known_regions.hpp"
#include "aggregation/node_group.hpp"
#include "aggregation/region_tables.hpp"
#include "aggregation/session_staging.hpp"
#include "aggregation/store_choice.hpp"
#include "formats/known_layout.hpp"
#include "formats/writer_lock.hpp"
#include "plan/planner.hpp"
#include "ranks/channel.hpp"
#include "ranks/messages.hpp"

namespace weir::aggregation {

struct CollectiveState {
  MPI_Comm communicator = MPI_COMM_NULL;
  int rank = 0;
  int ranks = 1;
  CollectiveSettings settings;
  std::unique_ptr<NodeGroup> group;
  std::unique_ptr<plan::Planner> planner;  // of this rank; caches the plans of requests
  std::shared_ptr<EngineSet> engines;
  std::unique_ptr<SessionStaging> staging;  // null: files are written by the ranks
  // The `staging` until a stager was lost and the ranks went on without any.
  std::unique_ptr<SessionStaging> lost_staging;
  std::set<std::string> told_not_staged;  // paths of files of which rank 0 has told people
  RegionTables region_tables;
  KnownRegions known_regions;
  StoreChoices stores;
  storage::KnownLayout known_layout;  // of files that rank 0 lays out
  std::uint64_t arrays = 0;  // number of arrays opened so far, equal on all ranks; numbers them
  std::uint64_t kinds = 0;   // OpenArray::kind() values assigned so far by this rank
  // Steps in which encoded chunks got places in a file so far, equal on all ranks; numbers them.
  std::uint64_t chunk_steps = 0;
  std::int64_t requests = 0;  // requests agreed on so far, equal on every rank
  // A deadline passed or MPI failed: the ranks do not know each other's state.
  bool broken = false;
  // The opening vote of a call that asks rank 0, until the call has been answered.
  std::optional<ranks::Channel::Round> asked;
  CollectiveFigures figures;  // of the last request that ended
  std::string notice;  // for users: settings that could not be followed; "" if there are none
  storage::WriterLocks locks;  // of files that this rank writes on behalf of all
  KnownDisjoint disjoint;      // explicit distributions whose boxes on this rank overlap no others
};

// Returns how long this rank has waited for its stager so far; 0: it has none.
[[nodiscard]] std::int64_t waited_for_stager_ns(const CollectiveState& state);

// Returns the error of a broken Collective.
[[nodiscard]] Error broken_collective();

// Marks the state as broken if this error ends all communication.
void note_broken(CollectiveState& state, const Error& error);

// The following functions are collective; each marks the state as broken if its deadline passes or
// MPI fails.

// Lets the ranks go on that wait for rank 0's answer to the call under way, if it has asked for one
// and was not answered: until then they take part in nothing else.
void release_asked(CollectiveState& state);
// Agrees on the outcome of a step; `mine` is the outcome on this rank. Every rank gets the error of
// the lowest rank that failed. A question to rank 0 that was not answered is given up.
[[nodiscard]] Status agree_on(CollectiveState& state, const Status& mine);
// Waits until an operation has ended that all ranks began, or those of this rank's node or the
// first rank of each node did; `begun` is the outcome of beginning it. Memory that the operation
// uses must be kept for good if this fails.
[[nodiscard]] Status finish(CollectiveState& state, const Status& begun, ranks::Pending& pending,
                            const char* what);
// Sends rank 0's text to all ranks. `what` is for the error of a missed deadline.
[[nodiscard]] Status share(CollectiveState& state, std::string& text, const char* what);
// Returns on all ranks what rank 0 alone finds: a text, or an error. If the call asks and was not
// answered yet, this is its answer. `possible` is the outcome so far, equal on all ranks; `find` is
// called on rank 0 alone; `what` as above.
[[nodiscard]] Result<std::string> ask_rank_0(CollectiveState& state, const Status& possible,
                                             const std::function<Result<std::string>()>& find,
                                             const char* what);
// Sends to every rank what rank 0 has already found. If the call asks and was not answered yet,
// this is its answer.
[[nodiscard]] Result<std::string> told_by_rank_0(CollectiveState& state,
                                                 const Result<std::string>& found,
                                                 const char* what);
// Gathers all ranks' numbers at rank 0, in the order of ranks; the others get nothing. Any amount
// can be gathered: numbers are sent in rounds of at most `most_together` numbers over all ranks, or
// one per rank if there are more ranks than that. If rank 0 lacks memory for them, all ranks get
// its error.
inline constexpr std::int64_t most_gathered_together = std::int64_t{1} << 27;
[[nodiscard]] Result<std::vector<std::int64_t>> gather_at_rank_0(
    CollectiveState& state, const std::vector<std::int64_t>& mine, const char* what,
    std::int64_t most_together = most_gathered_together);
// Decides which of the ranks that share an open file makes it durable. The ranks call this
// together, in the same order, after all data have been written.
[[nodiscard]] storage::SyncedHere begin_sync(CollectiveState& state);
// Returns whether the error means that written bytes could not be made durable.
[[nodiscard]] bool tells_of_loss(const Error& error);
// Called on all ranks with the agreed outcome: a rank whose bytes another rank was to make durable
// learns here that they are lost.
void learn_losses(CollectiveState& state, const Status& agreed);
// Closes descriptors of a file that this rank received and did not need, when the file is closed or
// one of its steps has failed.
void forget_descriptors(CollectiveState& state, std::uint64_t file_number);

}  // namespace weir::aggregation
