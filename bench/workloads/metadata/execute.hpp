// One repetition of one configuration: every measured action a phase, with what it needs around it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/status.hpp"
#include "measurement/aggregate.hpp"
#include "measurement/client_calls.hpp"
#include "measurement/core_settings.hpp"
#include "measurement/failure.hpp"
#include "measurement/histogram.hpp"
#include "measurement/job.hpp"
#include "workloads/metadata/item_calls.hpp"
#include "workloads/metadata/item_ring.hpp"
#include "workloads/metadata/parameters.hpp"
#include "workloads/metadata/patient_barrier.hpp"

namespace weir::bench::metadata {

// What one phase cost this rank.
struct ActionRecord {
  Measured measured;
  std::int64_t operations = 0;
  ActivePeriod active;       // from leaving the first barrier to reaching the last
  std::int64_t wait_ns = 0;  // at the last
  std::int64_t busy_ns = 0;  // in the operations
  LatencyHistogram latencies;
  // The calls to servers, on a node's first rank, where the file system's client counts them.
  std::optional<CallCounts> server_calls;

  [[nodiscard]] std::int64_t elapsed_ns() const {
    return active.end_ns - active.start_ns - active.paused_ns;
  }
  void note(std::int64_t ns) {
    latencies.record(ns);
    busy_ns += ns;
    ++operations;
  }
};

struct RepetitionRecord {
  std::vector<ActionRecord> phases;
  std::int64_t items_verified = 0;
};

// A directory held open; closes it.
class OpenDirectory {
 public:
  OpenDirectory() = default;
  OpenDirectory(const OpenDirectory&) = delete;
  OpenDirectory& operator=(const OpenDirectory&) = delete;
  ~OpenDirectory();
  Status open(const std::string& path);
  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  int descriptor_ = -1;
};

class Executor {
 public:
  // `root`: the folder that the trees lie in, which exists. `seed`: of sizes, content and order.
  // `client`: the counters of the file system that the root lies on. Collective.
  Executor(const Job& job, FailureGuard& guard, const CoreSettings& core, const Options& options,
           std::string root, std::uint64_t seed, ClientCalls client = {});

  // Collective. Fails on every rank when it fails on one: with the rank's own error where it
  // happened, elsewhere with ErrorCode::peer. `failed_rank()` then says where. Leaves nothing in
  // `root` unless it is to be kept.
  Result<RepetitionRecord> run(const Variant& variant);

  [[nodiscard]] int failed_rank() const { return failed_rank_; }
  // Whether records hold what was asked of servers; the same on every rank.
  [[nodiscard]] bool counts_server_calls() const { return counts_server_calls_; }

 private:
  struct Phase;
  struct InFlight;
  // An item and what it is called at present.
  struct ItemPlace {
    Kind kind;
    std::int64_t owner;
    std::int64_t item;
    bool renamed;
    bool across;
  };
  // An operation of io_uring that is to come.
  struct Queued {
    Action action{};
    ItemPlace at{};
    std::int64_t bytes = 0;        // of the file's content
    ActionRecord* part = nullptr;  // of a mix
  };

  Status meet(Status mine, std::int64_t* wait_ns = nullptr);
  // Measured or not: makes and checks the change of state.
  Status carry_out(Action action, ActionRecord* record);
  Status perform(Phase& phase);
  // After a stonewall, when all ranks have come: every rank makes as many items as the furthest has
  // made, and has no more of them until the repetition ends.
  Status go_on_to_the_furthest(Phase& phase);
  Status on_tree(Phase& phase);
  Status on_items(Phase& phase);
  Status on_batches(Phase& phase);
  template <typename Handle, typename Open, typename Close>
  Status in_batches(Phase& phase, const Open& open_one, const Close& close_one);
  Status on_listings(Phase& phase);
  // A phase by io_uring, of the operations that `next` gives.
  Status batched(Phase& phase, const std::function<std::optional<Queued>()>& next);
  void begin_item(const Phase& phase, int slot, InFlight& item, const Queued& what);
  bool go_on(int slot, int result, InFlight& item, int& error);
  int mpi_call(Action action, const TreeState& state, std::int64_t owner, std::int64_t item);
  // What create and write write to an item, or read reads from it; 0 for other actions.
  [[nodiscard]] std::int64_t content_bytes(Action action, const TreeState& state,
                                           std::int64_t owner, std::int64_t item) const;
  // A repetition of a mix.
  Result<RepetitionRecord> run_mix();
  Status mix_phase(MixSequence& sequence, RepetitionRecord& record);
  Status mix_operations(MixSequence& sequence, Phase& phase, RepetitionRecord& record);
  Status batched_mix(MixSequence& sequence, Phase& phase, RepetitionRecord& record,
                     std::int64_t count);
  Status make_or_remove(const MixSequence& sequence, std::int64_t owner, bool making);
  [[nodiscard]] MixSequence mix_sequence(std::int64_t owner) const;
  [[nodiscard]] std::int64_t item_at(std::int64_t place, std::int64_t owner) const;
  template <typename Call>
  Status each_item(Phase& phase, Call&& call);
  int call(Action action, const TreeState& state, Place place, std::int64_t owner,
           std::int64_t item);
  Status list_directory(Phase& phase, const std::string& path);
  Status sync_phase();
  // What the node's client has asked until now, on its first rank.
  [[nodiscard]] std::optional<CallCounts> server_calls() const;
  // After a phase, before anyone does anything else.
  Status count_server_calls(const std::optional<CallCounts>& before, ActionRecord& record);
  // Tells the guard and the ranks that wait that this one goes on, seldom enough to cost nothing.
  // `watched_ns`: when it last did; `path` as FailureGuard::entering() takes it.
  void keep_watch(const char* operation, const std::string& path, std::int64_t now_ns,
                  std::int64_t& watched_ns);
  [[nodiscard]] std::int64_t owner() const;
  [[nodiscard]] Place place_of(const Phase& phase, const PathWriter& path) const;

  const Job& job_;
  FailureGuard& guard_;
  const CoreSettings& core_;
  const Options& options_;
  NameRules names_;
  std::uint64_t seed_;
  std::int64_t shift_ = 0;
  ItemCalls calls_;
  PatientBarrier barrier_;
  ClientCalls client_;
  bool counts_server_calls_ = false;
  std::unique_ptr<ItemRing> ring_;  // from the first configuration of io_uring on

  // State of the repetition that runs.
  const Variant* variant_ = nullptr;
  Variant shortened_;  // what a stonewall has left of it
  std::unique_ptr<PathWriter> path_;
  std::unique_ptr<PathWriter> second_path_;  // where an item goes to
  TreeState state_;
  std::int64_t step_ = 0;  // phases and preparations so far that touched items
  std::int64_t items_verified_ = 0;
  int failed_rank_ = none_failed;
};

}  // namespace weir::bench::metadata
