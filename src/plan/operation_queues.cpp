#include "plan/operation_queues.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

#include "array/copy_runs.hpp"
#include "plan/file_windows.hpp"
#include "plan/meeting_blocks.hpp"
#include "plan/piece_extents.hpp"
#include "plan/plan.hpp"
#include "plan/rank_pieces.hpp"

namespace weir::plan {
namespace {

// A plan with more operations, or shares of them at targets, is not gone through.
constexpr std::size_t most_operations = 1 << 14;
constexpr std::size_t most_shares = 1 << 16;
// After each operation, an aggregator that gathers from other nodes waits for messages, as a share
// of the shortest time of the operation. Simulated callers that had just as many operations as the
// turns of their nodes allow were slower by a tenth to a quarter; more callers hide this.
constexpr double wait_for_messages = 0.1;

struct Share {
  std::size_t target = 0;
  double bytes = 0;
};

struct Operation {
  double turn_seconds = 0;
  std::size_t first_share = 0;
  std::size_t end_share = 0;
};

struct Caller {
  std::size_t way = 0;
  std::vector<Operation> operations;
};

struct Work {
  std::vector<Caller> callers;
  std::vector<Share> shares;
  std::size_t operations = 0;
  [[nodiscard]] bool is_too_much() const {
    return operations > most_operations || shares.size() > most_shares;
  }
};

// Collects the operations of callers.
class Collector {
 public:
  Collector(const topology::Topology& topology, const topology::FileTargets& targets,
            const PlatformRates& rates, Direction direction)
      : topology_(topology),
        targets_(targets),
        turns_((direction == Direction::write ? rates.write : rates.read).turns),
        rates_(rates) {}

  void begin_caller(std::int64_t rank) {
    const std::int64_t node = topology_.node_of(rank);
    const std::int64_t way = turns_.of_io_groups ? topology_.io_group_of_node(node) : node;
    work_.callers.push_back({static_cast<std::size_t>(way), {}});
  }
  // All that an aggregator moves of a piece is one operation.
  void add_piece(const Plan& plan, const Piece& piece) {
    FileWindows windows(PieceExtents(piece), widest_gap(plan, piece.id.array, rates_));
    begin_operation();
    for (FileWindow window; windows.next(window) && !work_.is_too_much();) {
      add(window.offset(), window.bytes());
    }
  }
  // Every row that a rank moves itself is one.
  void add_rows(const array::StridedCopy& to_file) {
    array::CopyRuns runs(to_file);
    std::int64_t from = 0;
    std::int64_t to = 0;
    while (!work_.is_too_much() && runs.next(from, to)) {
      begin_operation();
      add(to, runs.bytes());
    }
  }
  [[nodiscard]] const Work& work() const { return work_; }

 private:
  void begin_operation() {
    ++work_.operations;
    work_.callers.back().operations.push_back({0, work_.shares.size(), work_.shares.size()});
  }
  void add(std::int64_t offset, std::int64_t bytes) {
    Operation& operation = work_.callers.back().operations.back();
    operation.turn_seconds += turns_.call_seconds;
    if (turns_.bytes_per_second > 0) {
      operation.turn_seconds += static_cast<double>(bytes) / turns_.bytes_per_second;
    }
    const std::int64_t end = offset + bytes;
    while (offset < end && !work_.is_too_much()) {
      const std::int64_t stripe = offset / targets_.stripe_bytes;
      const std::int64_t to = std::min(end, (stripe + 1) * targets_.stripe_bytes);
      add_share(operation, static_cast<std::size_t>(stripe % targets_.count),
                static_cast<double>(to - offset));
      offset = to;
    }
  }
  void add_share(Operation& operation, std::size_t target, double bytes) {
    for (std::size_t i = operation.first_share; i < operation.end_share; ++i) {
      if (work_.shares[i].target != target) continue;
      work_.shares[i].bytes += bytes;
      return;
    }
    work_.shares.push_back({target, bytes});
    ++operation.end_share;
  }

  const topology::Topology& topology_;
  const topology::FileTargets& targets_;
  const Turns turns_;
  const PlatformRates& rates_;
  Work work_;
};

// Passes the time of the operations.
class Queues {
 public:
  Queues(const Work& work, std::size_t targets, double target_rate, std::int64_t at_once,
         double pauses)
      : work_(work),
        rate_(target_rate),
        pauses_(pauses),
        at_once_(at_once > 0 ? at_once : std::numeric_limits<std::int64_t>::max()),
        targets_(targets),
        progress_(work.callers.size()) {
    std::size_t ways = 0;
    for (const Caller& caller : work.callers) ways = std::max(ways, caller.way + 1);
    ways_.resize(ways);
  }

  double run() {
    for (std::size_t caller = 0; caller < work_.callers.size(); ++caller) come(caller);
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      if (event.kind == Event::end_of_share && event.version != targets_[event.number].version) {
        continue;
      }
      now_ = event.time;
      switch (event.kind) {
        case Event::end_of_share:
          end_share(event.number);
          break;
        case Event::end_of_turn:
          end_turn(event.number);
          break;
        case Event::end_of_pause:
          come(event.number);
          break;
      }
    }
    return now_;
  }

 private:
  struct Event {
    enum Kind : std::uint8_t { end_of_turn, end_of_share, end_of_pause };
    double time = 0;
    Kind kind = end_of_turn;
    std::size_t number = 0;    // of the target with the share, or of the caller
    std::int64_t version = 0;  // the end of a share is void if the target has a later version

    friend bool operator>(const Event& a, const Event& b) {
      return std::tie(a.time, a.kind, a.number) > std::tie(b.time, b.kind, b.number);
    }
  };
  struct Target {
    // The bytes that each operation that is there all the time has moved, and until when.
    double moved = 0;
    double since = 0;
    // The operations by what `moved` is when they end, with their callers.
    using Ending = std::pair<double, std::size_t>;
    std::priority_queue<Ending, std::vector<Ending>, std::greater<>> there;
    std::int64_t version = 0;
  };
  struct Way {
    std::deque<std::size_t> for_place;
    std::deque<std::size_t> for_turn;
    std::int64_t under_way = 0;
    bool is_taken = false;
  };
  struct Progress {
    std::size_t next = 0;
    std::size_t left = 0;  // of the operation: its turn, and its shares at targets
  };

  [[nodiscard]] const Operation& operation_of(std::size_t caller) const {
    return work_.callers[caller].operations[progress_[caller].next];
  }
  Way& way_of(std::size_t caller) { return ways_[work_.callers[caller].way]; }

  void come(std::size_t caller) {
    if (progress_[caller].next == work_.callers[caller].operations.size()) return;
    way_of(caller).for_place.push_back(caller);
    go_on(way_of(caller));
  }
  void go_on(Way& way) {
    while (!way.for_place.empty() && way.under_way < at_once_) {
      ++way.under_way;
      way.for_turn.push_back(way.for_place.front());
      way.for_place.pop_front();
    }
    if (way.is_taken || way.for_turn.empty()) return;
    const std::size_t caller = way.for_turn.front();
    way.for_turn.pop_front();
    way.is_taken = true;
    const Operation& operation = operation_of(caller);
    progress_[caller].left = 1 + operation.end_share - operation.first_share;
    events_.push({now_ + operation.turn_seconds, Event::end_of_turn, caller, 0});
    for (std::size_t i = operation.first_share; i < operation.end_share; ++i) {
      const Share& share = work_.shares[i];
      Target& target = targets_[share.target];
      pass_time(target);
      target.there.emplace(target.moved + share.bytes, caller);
      expect_end(share.target);
    }
  }
  void pass_time(Target& target) const {
    if (!target.there.empty()) {
      target.moved += (now_ - target.since) * rate_ / static_cast<double>(target.there.size());
    }
    target.since = now_;
  }
  void expect_end(std::size_t number) {
    Target& target = targets_[number];
    ++target.version;
    if (target.there.empty()) return;
    const double left = std::max(0.0, target.there.top().first - target.moved);
    const double seconds = left * static_cast<double>(target.there.size()) / rate_;
    events_.push({now_ + seconds, Event::end_of_share, number, target.version});
  }
  void end_share(std::size_t number) {
    Target& target = targets_[number];
    pass_time(target);
    const auto [moved, caller] = target.there.top();
    target.moved = moved;
    target.there.pop();
    expect_end(number);
    end_part(caller);
  }
  void end_turn(std::size_t caller) {
    way_of(caller).is_taken = false;
    end_part(caller);
    go_on(way_of(caller));
  }
  void end_part(std::size_t caller) {
    Progress& progress = progress_[caller];
    if (--progress.left > 0) return;
    --way_of(caller).under_way;
    const double pause = pauses_ * shortest_seconds(operation_of(caller));
    ++progress.next;
    if (pause > 0) {
      if (progress.next < work_.callers[caller].operations.size()) {
        events_.push({now_ + pause, Event::end_of_pause, caller, 0});
      }
    } else {
      come(caller);
    }
    go_on(way_of(caller));
  }
  [[nodiscard]] double shortest_seconds(const Operation& operation) const {
    double seconds = operation.turn_seconds;
    for (std::size_t i = operation.first_share; i < operation.end_share; ++i) {
      seconds = std::max(seconds, work_.shares[i].bytes / rate_);
    }
    return seconds;
  }

  const Work& work_;
  double rate_;
  double pauses_;  // after each operation, as a share of its shortest time
  std::int64_t at_once_;
  std::vector<Target> targets_;
  std::vector<Way> ways_;
  std::vector<Progress> progress_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  double now_ = 0;
};

void collect_rows(const std::shared_ptr<const Plan>& plan, Collector& collector) {
  for (std::int64_t rank = 0; rank < plan->request().ranks(); ++rank) {
    collector.begin_caller(rank);
    RankPieces pieces(plan, rank);
    for (PieceId id; pieces.next(id);) {
      const Piece piece = plan->piece(id);
      MeetingBlocks blocks(*plan, piece, rank);
      for (MeetingBlock block; blocks.next(block);) {
        if (collector.work().is_too_much()) return;
        collector.add_rows(buffer_to_file(block, piece.slabs[block.slab]));
      }
    }
  }
}

void collect_pieces(const std::shared_ptr<const Plan>& plan, Collector& collector) {
  for (std::int64_t aggregator = 0; aggregator < plan->aggregators(); ++aggregator) {
    collector.begin_caller(plan->rank_of(aggregator));
    AggregatorPieces pieces(plan, aggregator);
    for (Piece piece; pieces.next(piece);) {
      if (collector.work().is_too_much()) return;
      collector.add_piece(*plan, piece);
    }
  }
}

}  // namespace

Result<std::optional<double>> queue_seconds(const Request& request,
                                            const topology::Topology& topology,
                                            const topology::FileTargets& targets,
                                            const PlatformRates& rates,
                                            const Parameters& parameters) {
  const bool writing = request.direction == Direction::write;
  const FileRates& files = writing ? rates.write : rates.read;
  if (targets.count <= 1 || targets.stripe_bytes <= 0 || files.storage_bytes_per_second <= 0) {
    return std::optional<double>();
  }
  const bool direct = parameters.strategy == Strategy::direct;
  const auto most = static_cast<std::int64_t>(most_operations);
  if (!direct && request.bytes() / parameters.buffer_bytes > most) return std::optional<double>();
  Collector collector(topology, targets, rates, request.direction);
  const std::int64_t groups = direct ? 1 : Plan::groups(topology, parameters.strategy);
  for (std::int64_t group = 0; group < groups; ++group) {
    const auto plan = Plan::create(request, topology, parameters, group);
    if (!plan) return plan.error();
    if (direct) {
      collect_rows(plan.value(), collector);
    } else {
      collect_pieces(plan.value(), collector);
    }
    if (collector.work().is_too_much()) return std::optional<double>();
  }
  const double rate = files.storage_bytes_per_second / static_cast<double>(targets.count);
  const bool by_messages =
      !direct && gathers_within(parameters.strategy) == topology::GatherWithin::io_group &&
      topology.nodes_in_group(0) > 1;
  Queues queues(collector.work(), static_cast<std::size_t>(targets.count), rate,
                files.turns.calls_at_once, by_messages ? wait_for_messages : 0);
  return std::optional<double>(queues.run());
}

}  // namespace weir::plan
