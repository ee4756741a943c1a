// What planning costs on this machine: time, and memory at its highest, of one rank's plan. Prints
// a line per case with the goal. No MPI and no file: the ranks are numbers.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <new>
#include <vector>

#include "array/explicit_distribution.hpp"
#include "common/clock.hpp"
#include "plan/meeting_blocks.hpp"
#include "plan/planner.hpp"
#include "plan/rank_pieces.hpp"

namespace {

// Bytes that new has given out, and the most of them at once.
std::size_t live_bytes = 0;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)
std::size_t most_bytes = 0;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)
constexpr std::size_t header = alignof(std::max_align_t);

}  // namespace

void* operator new(std::size_t size) {
  void* const memory = std::malloc(size + header);
  if (memory == nullptr) throw std::bad_alloc();
  *static_cast<std::size_t*>(memory) = size;
  live_bytes += size;
  most_bytes = std::max(most_bytes, live_bytes);
  return static_cast<char*>(memory) + header;
}
void operator delete(void* memory) noexcept {
  if (memory == nullptr) return;
  void* const start = static_cast<char*>(memory) - header;
  live_bytes -= *static_cast<std::size_t*>(start);
  std::free(start);
}
void operator delete(void* memory, std::size_t /*size*/) noexcept { operator delete(memory); }

namespace weir::plan {
namespace {

constexpr int repetitions = 5;

struct Measured {
  double seconds = 0;            // median, by the clock
  double processor_seconds = 0;  // the same, of the processor: what a quiet machine would take
  std::size_t memory = 0;        // bytes, most at once beyond what there was
};

template <typename Work>
Measured measure(Work work) {
  std::vector<double> seconds;
  std::vector<double> processor;
  Measured measured;
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    const std::size_t before = live_bytes;
    most_bytes = live_bytes;
    const std::int64_t start = monotonic_ns();
    const std::clock_t processor_start = std::clock();
    work();
    processor.push_back(static_cast<double>(std::clock() - processor_start) / CLOCKS_PER_SEC);
    seconds.push_back(static_cast<double>(monotonic_ns() - start) * 1e-9);
    measured.memory = std::max(measured.memory, most_bytes - before);
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

// Everything that a rank works out for its share: its pieces and the copies of each. Returns the
// bytes, so that nothing is left out by the compiler.
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
  // Blocks of a refined mesh of 100,000 boxes of unequal extents, dealt to 1,000 ranks in turn.
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

}  // namespace
}  // namespace weir::plan

int main() {
  weir::plan::million_ranks();
  weir::plan::many_boxes();
}
