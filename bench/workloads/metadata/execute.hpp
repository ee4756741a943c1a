// Runs one repetition of one configuration: every measured action is a phase, with its preparation
// and cleanup.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
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
#include "workloads/metadata/open_calls.hpp"
#include "workloads/metadata/parameters.hpp"
#include "workloads/metadata/patient_barrier.hpp"

namespace weir::bench::metadata {

// Says what one phase cost this rank.
struct ActionRecord {
  Measured measured;
  std::int64_t operations = 0;
  ActivePeriod active;       // from leaving the first barrier to reaching the last
  std::int64_t wait_ns = 0;  // at the last barrier
  std::int64_t busy_ns = 0;  // in the operations
  LatencyHistogram latencies;
  // The calls to servers, on a node's first rank, if the file system's client counts them.
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

// An open directory, which is closed by the destructor.
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
  // `root` is the folder that contains the trees, which exists. `seed` is that of sizes, content
  // and order. `client` holds the counters of the file system of `root`. Collective.
  Executor(const Job& job, FailureGuard& guard, const CoreSettings& core, const Options& options,
           std::string root, std::uint64_t seed, ClientCalls client = {});

  // Runs one repetition. Collective. Fails on every rank if it fails on one: with the rank's own
  // error where it happened, on other ranks with ErrorCode::peer, and `failed_rank()` is then the
  // failed rank. Leaves nothing in `root` unless it is to be kept.
  Result<RepetitionRecord> run(const Variant& variant);

  [[nodiscard]] int failed_rank() const { return failed_rank_; }
  // Returns whether records contain the calls to servers. The same on every rank.
  [[nodiscard]] bool counts_server_calls() const { return counts_server_calls_; }

 private:
  struct Phase;
  struct InFlight;
  // An item, and what determines its present name.
  struct ItemPlace {
    Kind kind;
    std::int64_t owner;
    std::int64_t item;
    bool renamed;
    bool across;
  };
  // A future operation of an interface that keeps several in flight.
  struct Queued {
    Action action{};
    ItemPlace at{};
    ActionRecord* part = nullptr;  // record of the part, in a mix
  };

  Status meet(Status mine, std::int64_t* wait_ns = nullptr);
  // Makes and checks the change of state, measured or not.
  Status carry_out(Action action, ActionRecord* record);
  Status perform(Phase& phase);
  // Called after a stonewall, when all ranks have arrived. Every rank makes as many items as the
  // furthest rank has made, and has no more of them until the repetition ends.
  Status go_on_to_the_furthest(Phase& phase);
  Status on_tree(Phase& phase);
  Status on_items(Phase& phase);
  Status on_batches(Phase& phase);
  Status on_listings(Phase& phase);
  // Runs a phase with several operations in flight, which `next` returns.
  Status in_flight(Phase& phase, const std::function<std::optional<Queued>()>& next);
  // Returns the request of an action on an item, after it has written the item's path, and that of
  // its second place, into path_ and second_path_.
  NameRequest request_for(const Phase& phase, Action action, const ItemPlace& at);
  // Returns the bytes that create and write write to an item, or that read reads from it, or the
  // size that truncate sets; 0 for other actions.
  [[nodiscard]] std::int64_t content_bytes(Action action, const TreeState& state,
                                           std::int64_t owner, std::int64_t item) const;
  // Runs a repetition of a mix.
  Result<RepetitionRecord> run_mix();
  Status mix_phase(MixSequence& sequence, RepetitionRecord& record);
  Status mix_operations(MixSequence& sequence, Phase& phase, RepetitionRecord& record);
  Status mix_in_flight(MixSequence& sequence, Phase& phase, RepetitionRecord& record,
                       std::int64_t count);
  Status make_or_remove(const MixSequence& sequence, std::int64_t owner, bool making);
  [[nodiscard]] MixSequence mix_sequence(std::int64_t owner) const;
  [[nodiscard]] std::int64_t item_at(std::int64_t place, std::int64_t owner) const;
  template <typename Call>
  Status each_item(Phase& phase, Call&& call);
  Status sync_phase();
  // Returns the calls that the node's client has sent until now, on the node's first rank.
  [[nodiscard]] std::optional<CallCounts> server_calls() const;
  // Call it after a phase, before any rank does anything else.
  Status count_server_calls(const std::optional<CallCounts>& before, ActionRecord& record);
  // Tells the guard and the waiting ranks that this rank makes progress, seldom enough to cost
  // nothing. `watched_ns` is when it last did so; `path` is as for FailureGuard::entering().
  void keep_watch(const char* operation, const std::string& path, std::int64_t now_ns,
                  std::int64_t& watched_ns);
  [[nodiscard]] std::int64_t owner() const;
  // Opens the calls that a configuration needs, unless an earlier repetition has. Collective.
  Status take_calls_of(const Variant& variant);
  [[nodiscard]] NameCalls& calls_of(const Phase& phase) const;

  const Job& job_;
  FailureGuard& guard_;
  const CoreSettings& core_;
  const Options& options_;
  NameRules names_;
  std::uint64_t seed_;
  std::int64_t shift_ = 0;
  FileContent content_;
  PatientBarrier barrier_;
  ClientCalls client_;
  bool counts_server_calls_ = false;
  std::map<const Interface*, OpenCalls> open_calls_;  // of the configurations so far, and `posix`
  NameCalls* plain_ = nullptr;                        // by POSIX, for what is not measured

  // The state of the current repetition.
  const Variant* variant_ = nullptr;
  NameCalls* calls_ = nullptr;  // those that are measured
  Variant shortened_;           // the variant with the items that a stonewall has left
  std::unique_ptr<PathWriter> path_;
  std::unique_ptr<PathWriter> second_path_;  // the destination of an item
  TreeState state_;
  std::int64_t step_ = 0;  // phases and preparations so far that touched items
  std::int64_t items_verified_ = 0;
  int failed_rank_ = none_failed;
};

}  // namespace weir::bench::metadata
