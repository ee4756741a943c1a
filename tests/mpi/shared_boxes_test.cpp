// Distributions by boxes, whose table the ranks of each node share: the same as one made by a
// single process of all boxes, on one node and on several; errors are those of all ranks; and what
// a rank keeps for itself does not grow with the boxes of the others.
#include <fmt/format.h>
#include <mpi.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "aggregation/collective.hpp"
#include "array/box_list.hpp"
#include "array/box_table.hpp"
#include "array/distribution.hpp"
#include "array/explicit_distribution.hpp"
#include "array/section.hpp"
#include "array/test_random.hpp"
#include "common/counted_memory.hpp"
#include "rank_checks.hpp"

namespace {

namespace array = weir::array;
using weir::aggregation::Collective;
using weir::aggregation::CollectiveSettings;
using weir::plan::SharedDistribution;

using namespace weir::test;  // NOLINT(google-build-using-namespace)

// Some boxes on each rank, which every rank knows by the same random numbers.
struct Given {
  array::Shape shape;
  std::vector<std::int64_t> counts;
  array::BoxList all;
  array::BoxList mine;
};

Given random_boxes(array::Random& random, std::int64_t most) {
  const array::Shape shape = random.shape();
  Given given{shape, {}, array::BoxList(shape.dimensions()), array::BoxList(shape.dimensions())};
  for (int other = 0; other < ranks; ++other) {
    const std::int64_t count = random.chance(20) ? 0 : random.between(0, most);
    given.counts.push_back(count);
    for (std::int64_t i = 0; i < count; ++i) {
      const array::Box box = random.box(shape);
      given.all.push_back(box);
      if (other == rank) given.mine.push_back(box);
    }
  }
  return given;
}

void are_as_one_process_makes_them(Collective& collective, std::uint64_t seed, std::int64_t most) {
  array::Random random(seed);
  const Given given = random_boxes(random, most);
  const std::string what = fmt::format("seed {}", seed);
  const auto shared = collective.distribute(given.shape, given.mine);
  expect(shared.ok(), what + ": " + (shared ? "" : shared.error().text()));
  const auto alone = array::ExplicitDistribution::create(given.shape, given.counts, given.all);
  if (!shared || !alone) return;
  expect(shared.value() == SharedDistribution(alone.value()), what + ": another distribution");
  const array::ExplicitDistribution& held = *shared.value()->explicit_boxes();
  for (int asked = 0; asked < 20; ++asked) {
    const array::Box box = random.box(given.shape);
    expect(held.boxes_meeting(box) == alone.value().boxes_meeting(box),
           what + ": other boxes meet");
  }
  const weir::Status apart = held.check_disjoint();
  const weir::Status expected = alone.value().check_disjoint();
  expect(apart.ok() == expected.ok() &&
             (apart.ok() || apart.error().message == expected.error().message),
         what + ": another overlap");
}

void tell_errors_to_all(Collective& collective) {
  const array::Shape shape = array::Shape::create({100, 100}).value();
  array::BoxList mine(2);
  mine.push_back({{rank % 10, 0}, {1, 1}});
  array::BoxList outside = mine;
  outside.push_back({{50, 50}, {51, 1}});
  const auto refused = collective.distribute(shape, rank == ranks - 1 ? outside : mine);
  expect(!refused.ok(), "a box outside of the array was not refused");
  if (!refused) {
    const std::string text = refused.error().text();
    expect(text.find(fmt::format("box 1 of rank {}", ranks - 1)) != std::string::npos, text);
    expect_same(text, "a box outside");
  }
  expect(collective.distribute(shape, mine).ok(), "the next call");
}

// Boxes of one element, so many that all of them together take several times the memory that a rank
// may take beyond its own.
void keep_little_on_a_rank(Collective& collective) {
  constexpr std::int64_t all = 240'000;
  constexpr std::int64_t side = 64;
  constexpr std::size_t most_of_a_rank = std::size_t{2} << 20;
  const array::Shape shape = array::Shape::create({side, side, side}).value();
  array::BoxList mine(3);
  for (std::int64_t number = rank; number < all; number += ranks) {
    mine.push_back({{number / (side * side), number / side % side, number % side}, {1, 1, 1}});
  }
  const std::size_t before = weir::live_bytes();
  weir::reset_most_live_bytes();
  std::optional<SharedDistribution> kept;
  {
    auto shared = collective.distribute(shape, mine);
    expect(shared.ok(), shared ? "" : shared.error().text());
    if (!shared) return;
    kept = shared.value();
  }
  const array::ExplicitDistribution& held = *(*kept)->explicit_boxes();
  expect(held.check_disjoint(rank).ok(), "boxes of one element overlap");
  const std::size_t most = weir::most_live_bytes() - before;
  const auto table = array::BoxTable::image_bytes(shape, ranks, all);
  expect(table.value() > std::int64_t{3 * most_of_a_rank}, "the table is too small for this test");
  expect(most <= most_of_a_rank,
         fmt::format("{} bytes on this rank for its {} boxes of {}", most, mine.size(), all));
  expect(held.boxes().boxes() == all, "other boxes");
  // In the order of ranks: whose elements are where follows from the numbers.
  for (std::int64_t number = rank; number < all; number += 997) {
    const array::Indices index{number / (side * side), number / side % side, number % side};
    expect(held.owner(index) == number % ranks, fmt::format("the owner of element {}", number));
  }
}

// The boxes of 131,072 ranks, 100 each in three dimensions: their table as it is on each node, and
// what making and using it takes of a rank. Only some of the ranks have boxes that are not empty,
// as the table of all takes minutes to make; the memory of what is empty is never touched.
void keep_boxes_once_on_a_node() {
  constexpr std::int64_t job = 131'072;
  constexpr std::int64_t each = 100;
  constexpr std::int64_t filled = 64;
  constexpr std::int64_t most_of_a_node = std::int64_t{3} << 29;  // 1.5 GiB
  constexpr std::size_t most_of_a_rank = std::size_t{2} << 20;
  const array::Shape shape = array::Shape::create({1 << 14, 1 << 14, 1 << 14}).value();
  const auto bytes = array::BoxTable::image_bytes(shape, job, job * each);
  expect(bytes.value() <= most_of_a_node, fmt::format("{} bytes on a node", bytes.value()));
  const auto mapped_bytes = static_cast<std::size_t>(bytes.value());
  void* const image = ::mmap(nullptr, mapped_bytes, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  expect(image != MAP_FAILED, "no memory for the table");
  if (image == MAP_FAILED) return;
  const auto table = std::make_shared<const array::BoxTable>(
      shape, job, job * each,
      std::shared_ptr<std::byte>(static_cast<std::byte*>(image),
                                 [mapped_bytes](std::byte* all) { ::munmap(all, mapped_bytes); }));
  for (std::int64_t of = 0; of < job; ++of) table->set_count(of, each);
  expect(table->add_up_counts().ok(), "counts of boxes");
  const auto first_index = [](std::int64_t of, std::int64_t box) {
    return array::Indices{of * 256, box * 128, (of + box) % filled * 200};
  };
  const std::size_t before = weir::live_bytes();
  weir::reset_most_live_bytes();
  for (std::int64_t number = 0; number < filled; ++number) {
    const std::int64_t of = number * (job / filled);
    array::BoxList mine(3);
    for (std::int64_t box = 0; box < each; ++box) {
      mine.push_back({first_index(number, box), {250, 120, 180}});
    }
    expect(table->set_boxes(of, mine.numbers()).ok(), "boxes");
  }
  expect(table->list_boxes().ok(), "boxes are listed");
  table->build_below(0, 0);
  {
    const SharedDistribution held(array::Distribution{array::ExplicitDistribution(table)});
    for (std::int64_t number = 0; number < filled; ++number) {
      const std::int64_t of = number * (job / filled);
      expect(held->pieces(of) == each, "other boxes");
      expect(held->explicit_boxes()->check_disjoint(of).ok(), "boxes overlap");
      expect(held->explicit_boxes()->owner(first_index(number, 7)) == of, "another owner");
    }
  }
  const std::size_t most = weir::most_live_bytes() - before;
  expect(most <= most_of_a_rank, fmt::format("{} bytes on a rank", most));
  fmt::print("{} ranks with {} boxes each in 3-D: {} bytes on a node, {} on a rank\n", job, each,
             bytes.value(), most);
}

// The regions of 131,072 ranks: once on a node, and next to nothing on each rank.
void keep_regions_once_on_a_node() {
  constexpr std::int64_t job = 131'072;
  constexpr std::int64_t most_of_a_node = std::int64_t{8} << 20;
  constexpr std::size_t most_of_a_rank = 8 << 10;
  constexpr auto content = array::BoxTable::Content::regions;
  const array::Shape shape = array::Shape::create({1024, 1024, 1024}).value();
  const auto bytes = array::BoxTable::image_bytes(shape, job, job, content);
  expect(bytes.value() <= most_of_a_node, fmt::format("{} bytes on a node", bytes.value()));
  // Bytes of an earlier table, which each line of making this one has to set.
  std::vector<std::uint64_t> image(static_cast<std::size_t>(bytes.value()) / sizeof(std::uint64_t),
                                   0x5a5a5a5a5a5a5a5aU);
  const auto region_of = [](std::int64_t of) {  // every second element of a part of a row
    return array::Section{{of / 1024, of % 1024, 7}, {1, 1, 100}, {1, 1, 2}};
  };
  const array::BoxTable made(
      shape, job, job,
      std::shared_ptr<std::byte>(reinterpret_cast<std::byte*>(image.data()), [](std::byte*) {}),
      content);
  for (std::int64_t of = 0; of < job; of += 2) made.set_region(of, region_of(of));
  made.clear_regions_but([](std::int64_t of) { return of % 2 == 0; });
  for (std::int64_t of = 1; of < job; of += 2) made.set_region(of, region_of(of));
  for (std::int64_t of = 0; of < job; ++of) made.set_count(of, 1);
  expect(made.add_up_counts().ok(), "counts of regions");
  expect(made.list_boxes().ok(), "regions are listed");
  made.build_below(0, 0);
  const std::size_t before = weir::live_bytes();
  weir::reset_most_live_bytes();
  const SharedDistribution held(
      array::Distribution(array::ExplicitDistribution(std::make_shared<array::BoxTable>(made))));
  for (std::int64_t of = 5; of < job; of += 9973) {
    expect(held->elements(of) == 100 && held->pieces(of) == 1, "another part");
    expect(array::as_section(held->piece(of, 0)) == region_of(of), "another region");
    expect(held->explicit_boxes()->check_disjoint(of).ok(), "regions overlap");
    const auto meeting = held->pieces_meeting(
        array::Region(array::Section{{of / 1024, of % 1024, 0}, {1, 1, 512}, {1, 1, 2}}));
    expect(meeting.empty(), "a rank has what lies between its elements");
  }
  const std::size_t most = weir::most_live_bytes() - before;
  expect(most <= most_of_a_rank, fmt::format("{} bytes on a rank", most));
}

}  // namespace

int main(int argc, char** argv) {
  start_checks(argc, argv);
  for (const std::int64_t ranks_per_node : {0, 1, 3}) {
    CollectiveSettings settings;
    settings.buffer_bytes = 4096;
    settings.ranks_per_node = ranks_per_node;
    settings.deadline_seconds = 60;
    const auto collective = Collective::create(MPI_COMM_WORLD, settings);
    expect(collective.ok(), "create: " + (collective ? "" : collective.error().text()));
    if (!collective) continue;
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      are_as_one_process_makes_them(*collective.value(), seed, 30);
    }
    // So many that the ranks of a node build the tree together.
    are_as_one_process_makes_them(*collective.value(), 11, 2 * 16384 / ranks);
    are_as_one_process_makes_them(*collective.value(), 12, 4 * 16384 / ranks);
    tell_errors_to_all(*collective.value());
    keep_little_on_a_rank(*collective.value());
  }
  keep_regions_once_on_a_node();
  if (rank == 0) keep_boxes_once_on_a_node();
  return end_checks();
}
