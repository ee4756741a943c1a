// Measures the cost of planning on this machine: the time and the peak memory of one rank's plan.
// Prints a line per case with the goal. It uses no MPI and no file; the ranks are only numbers.
//
// clang-format off
//   planning                     all cases but the next
//   planning --boxes RANKS       the memory for RANKS ranks with 100 boxes each in 3-D, on a node
//                                and on a rank; and the memory that a rank needs for the places of
//                                16,384 ranks that are on nodes in no order. The exit status is 1
//                                if any of them exceeds its goal. With 131,072 ranks, the goals
//                                for boxes are 1.5 GiB on a node and 2 MiB on a rank; the goal for
//                                the node is in proportion to the ranks.
// clang-format on
#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <span>
#include <string_view>
#include <system_error>
#include <vector>

#include "array/explicit_distribution.hpp"
#include "common/clock.hpp"
#include "common/counted_memory.hpp"
#include "plan/meeting_blocks.hpp"
#include "plan/planner.hpp"
#include "plan/rank_pieces.hpp"

namespace weir::plan {
namespace {

constexpr int repetitions = 5;

struct Measured {
  double seconds = 0;            // median of elapsed time
  double processor_seconds = 0;  // median of processor time, which a quiet machine would take
  std::size_t memory = 0;        // maximum in bytes beyond the memory in use before
};

template <typename Work>
Measured measure(Work work) {
  std::vector<double> seconds;
  std::vector<double> processor;
  Measured measured;
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    const std::size_t before = live_bytes();
    reset_most_live_bytes();
    const std::int64_t start = monotonic_ns();
    const std::clock_t processor_start = std::clock();
    work();
    processor.push_back(static_cast<double>(std::clock() - processor_start) / CLOCKS_PER_SEC);
    seconds.push_back(static_cast<double>(monotonic_ns() - start) * 1e-9);
    measured.memory = std::max(measured.memory, most_live_bytes() - before);
  }
  std::sort(seconds.begin(), seconds.end());
  std::sort(processor.begin(), processor.end());
  measured.processor_seconds = processor[repetitions / 2];
  measured.seconds = seconds[repetitions / 2];
  return measured;
}

void print(const char* what, const Measured& measured, double goal_seconds,
           const char* memory_goal = "") {
  fmt::print("{:<72} {:>10.2f} us, processor {:>10.2f} (goal {:>6.0f}) {:>7.1f} KiB {}\n", what,
             measured.seconds * 1e6, measured.processor_seconds * 1e6, goal_seconds * 1e6,
             static_cast<double>(measured.memory) / 1024, memory_goal);
}

// Computes everything that a rank needs for its share: its pieces and the copies of each. Returns
// the bytes, so that the compiler omits nothing.
std::int64_t share_of(const std::shared_ptr<const Plan>& plan, std::int64_t rank,
                      std::int64_t& pieces) {
  std::int64_t bytes = 0;
  RankPieces mine(plan, rank);
  for (PieceId id; mine.next(id); ++pieces) {
    const Piece piece = plan->piece(id);
    MeetingBlocks blocks(*plan, piece, rank);
    for (MeetingBlock block; blocks.next(block);) {
      const auto memory =
          array::Layout::packed(plan->part(id.array, rank, block.part).local_extents(), 8,
                                array::Order::row_major)
              .value();
      const auto copy = memory_to_message(block, memory, array::Order::row_major);
      bytes += copy.bytes * copy.runs();
    }
  }
  return bytes;
}

void check(bool right, const char* what) {
  if (right) return;
  fmt::print(stderr, "planning: {}: the plan is wrong\n", what);
  std::exit(1);  // NOLINT(concurrency-mt-unsafe): the only thread
}

void million_ranks() {
  constexpr std::int64_t ranks = 1 << 20;
  constexpr std::int64_t side = std::int64_t{1} << 14;
  constexpr std::int64_t rank = 777777;
  const auto shape = array::Shape::create({side, side, side}).value();
  const std::vector<array::DistributionFormat> formats(3, array::DistributionFormat::block_of());
  const auto held = array::RegularDistribution::create(shape, formats, {{64, 128, 128}}).value();
  const auto image =
      FileImage::create(shape, array::ElementKind::float64, array::Order::row_major, 4096).value();
  const Request request{Direction::write, {{image, {held}, array::Section::of(shape.box()), 0}}};
  const auto nodes = topology::Topology::filled(ranks, 64).value();
  std::int64_t pieces = 0;
  std::int64_t bytes = 0;
  const Measured planned = measure([&] {
    pieces = 0;
    const auto plan =
        Plan::create(request, nodes, {Strategy::two_phase, 4096, 16 << 20, 1 << 20}).value();
    bytes = share_of(plan, rank, pieces);
  });
  check(bytes == 256 * 128 * 128 * 8, "a rank of a million");
  print(fmt::format("1 of {} ranks, 32 TiB by BLOCK, all {} pieces of its part", ranks, pieces)
            .c_str(),
        planned, 5e-3, "(goal 1024)");

  const topology::FileTargets targets{512, 1 << 20, 1 << 20};
  Overrides overrides;
  const Measured chosen = measure([&] {
    Planner planner(nodes, targets, {}, rank);
    bytes = planner.plan(request, overrides).value()->choice.chosen.aggregators;
  });
  print("the same request: pricing all strategies and choosing", chosen, 5e-3, "(goal 1024)");

  Planner planner(nodes, targets, {}, rank);
  const auto first = planner.plan(request, overrides).value();
  constexpr int lookups = 100'000;
  Measured hits = measure([&] {
    for (int i = 0; i < lookups; ++i) {
      check(planner.plan(request, overrides).value() == first, "the cache");
    }
  });
  hits.seconds /= lookups;
  hits.processor_seconds /= lookups;
  print("a hit in the plan cache", hits, 2e-6);
  Measured made = measure([&] {
    for (int i = 0; i < lookups; ++i) {
      const Request again{Direction::write, {{image, {held}, array::Section::of(shape.box()), 0}}};
      check(planner.plan(again, overrides).value() == first, "the cache");
    }
  });
  made.seconds /= lookups;
  made.processor_seconds /= lookups;
  print("the same, making the request anew each time", made, 2e-6);
}

void many_boxes() {
  // The boxes are blocks of a refined mesh: 100,000 boxes of unequal extents, distributed
  // round-robin to 1,000 ranks.
  constexpr std::int64_t ranks = 1000;
  constexpr std::int64_t per_rank = 100;
  const auto shape = array::Shape::create({1600, 1000, 1000}).value();  // 100 x 50 x 20 boxes
  std::vector<std::int64_t> numbers;
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    for (std::int64_t i = 0; i < per_rank; ++i) {
      const std::int64_t box = i * ranks + rank;
      const std::int64_t x = box / 1000;
      const std::int64_t y = box / 20 % 50;
      const std::int64_t z = box % 20;
      for (const std::int64_t lower : {16 * x, 20 * y, 50 * z}) numbers.push_back(lower);
      for (const std::int64_t extent : {16 - x % 3, 20 - y % 5, 50 - z % 7}) {
        numbers.push_back(extent);
      }
    }
  }
  const std::vector<std::int64_t> counts(ranks, per_rank);
  const auto image =
      FileImage::create(shape, array::ElementKind::float64, array::Order::row_major, 0).value();
  const auto nodes = topology::Topology::filled(ranks, 10).value();
  std::int64_t pieces = 0;
  std::int64_t held_bytes = 0;
  std::int64_t bytes = 0;
  const auto boxes = [&] {
    return array::ExplicitDistribution::create(shape, counts, array::BoxList(3, numbers)).value();
  };
  const Measured planned = measure([&] {
    array::ExplicitDistribution held = boxes();
    check(held.check_disjoint().ok(), "disjoint boxes");
    held_bytes = held.elements(17) * 8;
    const Request request{Direction::write,
                          {{image, {std::move(held)}, array::Section::of(shape.box()), 0}}};
    pieces = 0;
    const auto plan =
        Plan::create(request, nodes, {Strategy::two_phase, 100, 16 << 20, 1 << 20}).value();
    bytes = share_of(plan, 17, pieces);
    AggregatorPieces own(plan, 50);
    for (Piece piece; own.next(piece); ++pieces) {
      check(!plan->contributors(piece).empty(), "contributors");
    }
  });
  check(bytes == held_bytes, "a rank with boxes");
  print(
      fmt::format("100,000 explicit boxes: checked, {} pieces of a rank and an aggregator", pieces)
          .c_str(),
      planned, 0.5);
}

// Allocates memory that represents the memory that a node's ranks share; it is not counted as this
// rank's own.
std::shared_ptr<std::byte> memory_of_the_node(std::size_t bytes) {
  void* const mapped =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  check(mapped != MAP_FAILED, "memory of the node");
  return {static_cast<std::byte*>(mapped), [bytes](std::byte* first) { ::munmap(first, bytes); }};
}

// Returns the boxes of a rank: a hundred neighbours of unequal extents, or boxes far from each
// other.
std::vector<std::int64_t> boxes_of(std::int64_t rank, std::int64_t ranks, std::int64_t per_rank,
                                   bool scattered) {
  std::vector<std::int64_t> numbers;
  numbers.reserve(static_cast<std::size_t>(6 * per_rank));
  for (std::int64_t i = 0; i < per_rank; ++i) {
    const std::int64_t box = scattered ? i * ranks + rank : rank * per_rank + i;
    const std::int64_t x = box / (256 * 256);
    const std::int64_t y = box / 256 % 256;
    const std::int64_t z = box % 256;
    for (const std::int64_t lower : {16 * x, 16 * y, 16 * z}) numbers.push_back(lower);
    for (const std::int64_t extent : {16 - x % 3, 16 - y % 5, 16 - z % 7}) {
      numbers.push_back(extent);
    }
  }
  return numbers;
}

// Measures one of `ranks` ranks with 100 boxes each. The table is built as the ranks of a node
// build it together, but here by one process.
bool boxes_of_many_ranks(std::int64_t ranks, bool scattered) {
  constexpr std::int64_t per_rank = 100;
  constexpr std::int64_t ranks_of_goal = 131'072;
  constexpr std::int64_t goal_of_node = std::int64_t{3} << 29;
  constexpr std::size_t goal_of_rank = std::size_t{2} << 20;
  const std::int64_t layers = ranks * per_rank / (256 * 256) + 1;
  const auto shape = array::Shape::create({16 * layers, 16 * 256, 16 * 256}).value();
  const std::int64_t rank = ranks / 3;
  const std::vector<std::int64_t> mine = boxes_of(rank, ranks, per_rank, scattered);

  const std::int64_t bytes = array::BoxTable::image_bytes(shape, ranks, ranks * per_rank).value();
  const std::int64_t start = monotonic_ns();
  const std::size_t before = live_bytes();
  const auto table = std::make_shared<const array::BoxTable>(
      shape, ranks, ranks * per_rank, memory_of_the_node(static_cast<std::size_t>(bytes)));
  for (std::int64_t other = 0; other < ranks; ++other) table->set_count(other, per_rank);
  check(table->add_up_counts().ok(), "counts of boxes");
  for (std::int64_t other = 0; other < ranks; ++other) {
    check(table->set_boxes(other, boxes_of(other, ranks, per_rank, scattered)).ok(), "boxes");
  }
  reset_most_live_bytes();
  check(table->list_boxes().ok(), "a list of boxes");
  table->build_below(0, 0);
  const double built = static_cast<double>(monotonic_ns() - start) * 1e-9;

  array::ExplicitDistribution held(table);
  check(held.check_disjoint(rank).ok(), "disjoint boxes");
  std::int64_t held_bytes = 0;
  for (std::size_t at = 3; at < mine.size(); at += 6) {
    held_bytes += mine[at] * mine[at + 1] * mine[at + 2] * 8;
  }
  const auto image =
      FileImage::create(shape, array::ElementKind::float64, array::Order::row_major, 0).value();
  const auto nodes = topology::Topology::filled(ranks, std::min<std::int64_t>(ranks, 128)).value();
  const Request request{Direction::write,
                        {{image, {std::move(held)}, array::Section::of(shape.box()), 0}}};
  Planner planner(nodes, {64, 1 << 20, 1 << 20}, {}, rank);
  const auto planned = planner.plan(request, {}).value();
  std::int64_t pieces = 0;
  check(share_of(planned->plan, rank, pieces) == held_bytes, "a rank with boxes");
  const std::size_t own = most_live_bytes() - before;
  const std::int64_t node_goal = goal_of_node / ranks_of_goal * ranks;
  fmt::print(
      "{} ranks with {} {} boxes each: {:.1f} MiB on a node (goal {:.1f}), {:.1f} KiB on a rank "
      "beyond its own (goal {}), table made in {:.1f} s by one rank\n",
      ranks, per_rank, scattered ? "scattered" : "neighbouring",
      static_cast<double>(bytes) / (1 << 20), static_cast<double>(node_goal) / (1 << 20),
      static_cast<double>(own) / 1024, goal_of_rank / 1024, built);
  return bytes <= node_goal && own <= goal_of_rank;
}

// Measures ranks that are on nodes in no order, as with a reordered communicator: the memory that a
// rank keeps for the places of all ranks, and the additional memory for many plans.
bool ranks_in_no_order() {
  constexpr std::int64_t ranks = 16'384;
  constexpr std::int64_t nodes = 128;
  constexpr std::int64_t plans = 32;
  constexpr std::size_t goal_of_topology = std::size_t{1} << 20;
  constexpr std::size_t goal_of_plan = std::size_t{16} << 10;
  std::vector<std::int64_t> node_of_rank;
  std::uint64_t state = 1;
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    node_of_rank.push_back(static_cast<std::int64_t>((state >> 33U) % nodes));
  }
  const std::size_t before = live_bytes();
  const auto irregular = topology::Topology::of_nodes(node_of_rank).value();
  const std::size_t of_topology = live_bytes() - before;
  const auto shape = array::Shape::create({ranks, 1024}).value();
  const std::vector<array::DistributionFormat> formats = {
      array::DistributionFormat::block_of(), array::DistributionFormat::whole_dimension()};
  const auto held = array::RegularDistribution::create(shape, formats, {{ranks, 1}}).value();
  const auto image =
      FileImage::create(shape, array::ElementKind::float64, array::Order::row_major, 0).value();
  std::vector<std::shared_ptr<const Plan>> kept;
  for (std::int64_t number = 0; number < plans; ++number) {
    array::Section section = array::Section::of(shape.box());
    section.count[1] = 1 + number;
    const Request request{Direction::write, {{image, {held}, section, 0}}};
    kept.push_back(
        Plan::create(request, irregular, {Strategy::two_phase, 256, 1 << 20, 4096}).value());
  }
  const std::size_t of_plan =
      (live_bytes() - before - of_topology) / static_cast<std::size_t>(plans);
  fmt::print(
      "{} ranks in no order on {} nodes: {:.1f} KiB on a rank (goal {}), {:.1f} KiB more with each "
      "plan that is kept (goal {})\n",
      ranks, nodes, static_cast<double>(of_topology) / 1024, goal_of_topology / 1024,
      static_cast<double>(of_plan) / 1024, goal_of_plan / 1024);
  return of_topology <= goal_of_topology && of_plan <= goal_of_plan;
}

}  // namespace
}  // namespace weir::plan

int main(int count, char** arguments) {
  const std::span<char*> given(arguments, static_cast<std::size_t>(count));
  if (given.size() > 1) {
    std::int64_t ranks = 0;
    const std::string_view number = given.size() == 3 ? given[2] : "";
    const auto read = std::from_chars(number.data(), number.data() + number.size(), ranks);
    if (std::string_view(given[1]) != "--boxes" || read.ec != std::errc() || ranks <= 0 ||
        read.ptr != number.data() + number.size()) {
      fmt::print(stderr, "usage: planning [--boxes RANKS], RANKS a number from 1 on\n");
      return 2;
    }
    const bool neighbours = weir::plan::boxes_of_many_ranks(ranks, false);
    const bool scattered = weir::plan::boxes_of_many_ranks(ranks, true);
    const bool in_no_order = weir::plan::ranks_in_no_order();
    return neighbours && scattered && in_no_order ? 0 : 1;
  }
  weir::plan::million_ranks();
  weir::plan::many_boxes();
  return 0;
}
