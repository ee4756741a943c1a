#include "aggregation/shared_boxes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "aggregation/node_combination.hpp"
#include "array/box_table.hpp"
#include "array/number_theory.hpp"
#include "ranks/messages.hpp"
#include "ranks/progress.hpp"
#include "ranks/waiting.hpp"

namespace weir::aggregation {
namespace {

using array::BoxTable;

constexpr const char* waited_for_boxes = "the other ranks' boxes";
// One rank builds a smaller tree alone, as rounds of agreement would take longer.
constexpr std::int64_t least_built_together = std::int64_t{1} << 14;
// A tree that ranks build together has this many parts per rank, because the work of parts differs
// a little.
constexpr std::int64_t parts_per_rank = 4;

class SharedBoxes {
 public:
  SharedBoxes(CollectiveState& state, const array::Shape& shape,
              std::span<const std::int64_t> numbers)
      : state_(state), shape_(shape), numbers_(numbers) {}

  Result<array::ExplicitDistribution> make() {
    const auto count =
        add_up(static_cast<std::int64_t>(numbers_.size()) / (2 * shape_.dimensions()));
    if (!count) return count.error();
    const auto bytes = BoxTable::image_bytes(shape_, state_.ranks, count.value());
    if (!bytes) return bytes.error();  // on all ranks alike
    if (Status shared = share_memory(bytes.value()); !shared.ok()) return shared.error();
    const auto table = std::make_shared<const BoxTable>(
        shape_, state_.ranks, count.value(), std::shared_ptr<std::byte>(memory_, memory_->data()));
    if (Status filled = fill(*table); !filled.ok()) return filled.error();
    if (Status built = build(*table); !built.ok()) return built.error();
    if (Status ended = agree(memory_->make_read_only()); !ended.ok()) return ended.error();
    return array::ExplicitDistribution(table);
  }

 private:
  // Ends a stage on all ranks.
  Status agree(const Status& mine) { return agree_on(state_, mine); }
  [[nodiscard]] bool leads() const { return state_.group->own_place() == 0; }
  // Returns whether this rank does a part of the work that is divided among the node's ranks.
  [[nodiscard]] bool is_mine(std::int64_t part) const {
    return part % state_.group->places() == state_.group->own_place();
  }

  Result<std::int64_t> add_up(std::int64_t mine) {
    ranks::KeptUntilDone<std::array<std::int64_t, 2>> counts;
    (*counts)[0] = mine;
    ranks::Pending pending;
    const Status done = finish(state_,
                               ranks::reduce_to_all(pending, &(*counts)[0], &(*counts)[1], 1,
                                                    MPI_INT64_T, MPI_SUM, state_.communicator),
                               pending, waited_for_boxes);
    if (done.ok()) return (*counts)[1];
    counts.keep_for_good();
    return done.error();
  }

  Status share_memory(std::int64_t bytes) {
    auto shared = state_.group->share_more(bytes);
    Status mine;
    if (shared) {
      memory_ = std::move(shared).value();
    } else {
      mine = shared.error();
      if (ranks::ends_communication(mine.error())) {
        note_broken(state_, mine.error());
        return mine;
      }
      mine.error().message +=
          fmt::format("; the boxes of all ranks take {} bytes on each node", bytes);
    }
    return agree(mine);
  }

  Status fill(const BoxTable& table) {
    table.set_count(state_.rank,
                    static_cast<std::int64_t>(numbers_.size()) / (2 * shape_.dimensions()));
    if (Status all = agree({}); !all.ok()) return all;
    Status mine;
    if (leads()) {
      mine = combine_nodes(table.count_words());
      if (mine.ok()) mine = table.add_up_counts();
    }
    if (Status added = end_combining(mine); !added.ok()) return added;
    if (Status set = agree(table.set_boxes(state_.rank, numbers_)); !set.ok()) return set;
    if (leads()) {
      mine = combine_nodes(table.box_words());
      if (mine.ok()) mine = table.list_boxes();
    }
    return end_combining(mine);
  }

  Status end_combining(const Status& mine) {
    if (!mine.ok() && ranks::ends_communication(mine.error())) return mine;
    return agree(mine);
  }

  // Called by the first rank of each node: combines what all nodes wrote.
  Status combine_nodes(std::span<std::uint64_t> words) {
    NodeCombination combination(words, memory_, state_.group->leaders());
    Status failed;
    const auto is_done = [&] {
      const auto done = combination.step();
      if (!done) failed = done.error();
      return !done || done.value();
    };
    ranks::Revocation& revocation = state_.group->revocation();
    Status done = ranks::wait_until(is_done, revocation, state_.settings.deadline_seconds,
                                    waited_for_boxes, state_.group->life());
    if (!failed.ok()) {
      revocation.revoke(failed.error());
      done = std::move(failed);
    }
    if (!done.ok()) {
      combination.keep_for_good();
      state_.broken = true;
    }
    return done;
  }

  Status build(const BoxTable& table) {
    if (table.boxes() < least_built_together) {
      if (leads()) table.build_below(0, 0);
      return {};  // the last round of agreement follows
    }
    int levels = 0;
    std::int64_t nodes = 1;
    // Nodes may have different numbers of ranks, but all ranks take part in the same number of
    // rounds.
    const std::int64_t ranks_per_node =
        array::divide_up(std::int64_t{state_.ranks}, state_.group->nodes());
    for (; nodes < parts_per_rank * ranks_per_node; nodes *= 2) {
      for (std::int64_t node = 0; node < nodes; ++node) {
        if (is_mine(node)) table.split(levels, node);
      }
      if (Status split = agree({}); !split.ok()) return split;
      ++levels;
    }
    for (std::int64_t node = 0; node < nodes; ++node) {
      if (is_mine(node)) table.build_below(levels, node);
    }
    if (Status built = agree({}); !built.ok()) return built;
    if (leads()) table.bound_above(levels);
    return {};
  }

  CollectiveState& state_;
  const array::Shape& shape_;
  std::span<const std::int64_t> numbers_;
  std::shared_ptr<storage::SharedMemory> memory_;
};

}  // namespace

Result<array::ExplicitDistribution> share_boxes(CollectiveState& state, const array::Shape& shape,
                                                std::span<const std::int64_t> mine) {
  if (state.broken) return broken_collective();
  return SharedBoxes(state, shape, mine).make();
}

}  // namespace weir::aggregation
