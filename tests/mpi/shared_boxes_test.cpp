// Distributions by boxes, whose table the ranks of each node share: the same as one made by a
// single process of all boxes, on one node and on several; errors are those of all ranks; and what
// a rank keeps for itself does not grow with the boxes of the others.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <mpi.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "array/box_list.hpp"
#include "array/box_table.hpp"
#include "array/distribution.hpp"
#include "array/explicit_distribution.hpp"
#include "array/section.hpp"
#include "array/test_random.hpp"
#include "collective.hpp"
#include "common/counted_memory.hpp"
#include "harness/on_ranks.hpp"

namespace weir::test {
namespace {

using aggregation::CollectiveSettings;
using plan::SharedDistribution;

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
  for (int other = 0; other < size_of_world(); ++other) {
    const std::int64_t count = random.chance(20) ? 0 : random.between(0, most);
    given.counts.push_back(count);
    for (std::int64_t i = 0; i < count; ++i) {
      const array::Box box = random.box(shape);
      given.all.push_back(box);
      if (other == rank_of_world()) given.mine.push_back(box);
    }
  }
  return given;
}

// The parameter is how many ranks count as a node; 0: those that share memory.
class SharedBoxes : public ::testing::TestWithParam<std::int64_t> {
 protected:
  void SetUp() override {
    CollectiveSettings settings;
    settings.buffer_bytes = 4096;
    settings.ranks_per_node = GetParam();
    settings.deadline_seconds = 60;
    auto created = Collective::create(MPI_COMM_WORLD, settings);
    ASSERT_TRUE(is_ok_on_all_ranks(created));
    collective_ = std::move(created).value();
  }
  void expect_the_same_from_one_process(std::uint64_t seed, std::int64_t most);

  const int rank_ = rank_of_world();
  const int ranks_ = size_of_world();
  std::unique_ptr<Collective> collective_;
};

INSTANTIATE_TEST_SUITE_P(RanksOfANode, SharedBoxes, ::testing::Values(0, 1, 3),
                         ::testing::PrintToStringParamName());

void SharedBoxes::expect_the_same_from_one_process(std::uint64_t seed, std::int64_t most) {
  SCOPED_TRACE(fmt::format("seed {}", seed));
  array::Random random(seed);
  const Given given = random_boxes(random, most);
  const auto shared = collective_->distribute(given.shape, given.mine);
  const auto alone = array::ExplicitDistribution::create(given.shape, given.counts, given.all);
  ASSERT_TRUE(is_ok_on_all_ranks(shared));
  ASSERT_TRUE(is_ok(alone));
  EXPECT_TRUE(shared.value() == SharedDistribution(alone.value())) << "another distribution";
  const array::ExplicitDistribution& held = *shared.value()->explicit_boxes();
  for (int asked = 0; asked < 20; ++asked) {
    const array::Box box = random.box(given.shape);
    EXPECT_TRUE(held.boxes_meeting(box) == alone.value().boxes_meeting(box)) << "other boxes meet";
  }
  const Status apart = held.check_disjoint();
  const Status expected = alone.value().check_disjoint();
  ASSERT_EQ(apart.ok(), expected.ok());
  if (!apart) {
    EXPECT_EQ(apart.error().message, expected.error().message);
  }
}

TEST_P(SharedBoxes, AreAsOneProcessMakesThem) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) expect_the_same_from_one_process(seed, 30);
}

TEST_P(SharedBoxes, AreTheSameWhereTheRanksOfANodeBuildTheTreeTogether) {
  expect_the_same_from_one_process(11, 2 * 16384 / ranks_);
  expect_the_same_from_one_process(12, 4 * 16384 / ranks_);
}

TEST_P(SharedBoxes, ABoxOutsideOfTheArrayIsToldToAllRanksAndTheNextCallWorks) {
  const array::Shape shape = array::Shape::create({100, 100}).value();
  array::BoxList mine(2);
  mine.push_back({{rank_ % 10, 0}, {1, 1}});
  array::BoxList outside = mine;
  outside.push_back({{50, 50}, {51, 1}});
  const auto refused = collective_->distribute(shape, rank_ == ranks_ - 1 ? outside : mine);
  EXPECT_FALSE(refused.ok());
  const std::string text = refused ? "" : refused.error().text();
  EXPECT_NE(text.find(fmt::format("box 1 of rank {}", ranks_ - 1)), std::string::npos) << text;
  EXPECT_TRUE(is_same_on_all_ranks(text));
  EXPECT_TRUE(is_ok(collective_->distribute(shape, mine)));
}

// Boxes of one element, so many that all of them together take several times the memory that a rank
// may take beyond its own.
TEST_P(SharedBoxes, ARankKeepsLittleForItself) {
  constexpr std::int64_t all = 240'000;
  constexpr std::int64_t side = 64;
  constexpr std::size_t most_of_a_rank = std::size_t{2} << 20;
  const array::Shape shape = array::Shape::create({side, side, side}).value();
  array::BoxList mine(3);
  for (std::int64_t number = rank_; number < all; number += ranks_) {
    mine.push_back({{number / (side * side), number / side % side, number % side}, {1, 1, 1}});
  }
  const std::size_t before = live_bytes();
  reset_most_live_bytes();
  std::optional<SharedDistribution> kept;
  {
    auto shared = collective_->distribute(shape, mine);
    ASSERT_TRUE(is_ok_on_all_ranks(shared));
    kept = shared.value();
  }
  const array::ExplicitDistribution& held = *(*kept)->explicit_boxes();
  EXPECT_TRUE(is_ok(held.check_disjoint(rank_)));
  const std::size_t most = most_live_bytes() - before;
  const auto table = array::BoxTable::image_bytes(shape, ranks_, all);
  EXPECT_GT(table.value(), std::int64_t{3 * most_of_a_rank}) << "too small for this test";
  EXPECT_LE(most, most_of_a_rank) << "for " << mine.size() << " boxes of " << all;
  EXPECT_EQ(held.boxes().boxes(), all);
  // In the order of ranks: whose elements are where follows from the numbers.
  for (std::int64_t number = rank_; number < all; number += 997) {
    const array::Indices index{number / (side * side), number / side % side, number % side};
    EXPECT_EQ(held.owner(index), number % ranks_) << "of element " << number;
  }
}

// The boxes of 131,072 ranks, 100 each in three dimensions: their table as it is on each node, and
// what making and using it takes of a rank. Only some of the ranks have boxes that are not empty,
// as the table of all takes minutes to make; the memory of what is empty is never touched.
TEST(BoxTables, BoxesOfManyRanksAreKeptOnceOnANode) {
  if (rank_of_world() != 0) return;  // the others take no gigabyte for it
  constexpr std::int64_t job = 131'072;
  constexpr std::int64_t each = 100;
  constexpr std::int64_t filled = 64;
  constexpr std::int64_t most_of_a_node = std::int64_t{3} << 29;  // 1.5 GiB
  constexpr std::size_t most_of_a_rank = std::size_t{2} << 20;
  const array::Shape shape = array::Shape::create({1 << 14, 1 << 14, 1 << 14}).value();
  const auto bytes = array::BoxTable::image_bytes(shape, job, job * each);
  EXPECT_LE(bytes.value(), most_of_a_node);
  const auto mapped_bytes = static_cast<std::size_t>(bytes.value());
  void* const image = ::mmap(nullptr, mapped_bytes, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(image, MAP_FAILED) << "no memory for the table";
  const auto table = std::make_shared<const array::BoxTable>(
      shape, job, job * each,
      std::shared_ptr<std::byte>(static_cast<std::byte*>(image),
                                 [mapped_bytes](std::byte* all) { ::munmap(all, mapped_bytes); }));
  for (std::int64_t of = 0; of < job; ++of) table->set_count(of, each);
  EXPECT_TRUE(is_ok(table->add_up_counts()));
  const auto first_index = [](std::int64_t of, std::int64_t box) {
    return array::Indices{of * 256, box * 128, (of + box) % filled * 200};
  };
  const std::size_t before = live_bytes();
  reset_most_live_bytes();
  for (std::int64_t number = 0; number < filled; ++number) {
    const std::int64_t of = number * (job / filled);
    array::BoxList mine(3);
    for (std::int64_t box = 0; box < each; ++box) {
      mine.push_back({first_index(number, box), {250, 120, 180}});
    }
    EXPECT_TRUE(is_ok(table->set_boxes(of, mine.numbers())));
  }
  EXPECT_TRUE(is_ok(table->list_boxes()));
  table->build_below(0, 0);
  {
    const SharedDistribution held(array::Distribution{array::ExplicitDistribution(table)});
    for (std::int64_t number = 0; number < filled; ++number) {
      const std::int64_t of = number * (job / filled);
      EXPECT_EQ(held->pieces(of), each);
      EXPECT_TRUE(is_ok(held->explicit_boxes()->check_disjoint(of)));
      EXPECT_EQ(held->explicit_boxes()->owner(first_index(number, 7)), of);
    }
  }
  const std::size_t most = most_live_bytes() - before;
  EXPECT_LE(most, most_of_a_rank);
  fmt::print("{} ranks with {} boxes each in 3-D: {} bytes on a node, {} on a rank\n", job, each,
             bytes.value(), most);
}

// The regions of 131,072 ranks: once on a node, and next to nothing on each rank.
TEST(BoxTables, RegionsOfManyRanksAreKeptOnceOnANode) {
  constexpr std::int64_t job = 131'072;
  constexpr std::int64_t most_of_a_node = std::int64_t{8} << 20;
  constexpr std::size_t most_of_a_rank = 8 << 10;
  constexpr auto content = array::BoxTable::Content::regions;
  const array::Shape shape = array::Shape::create({1024, 1024, 1024}).value();
  const auto bytes = array::BoxTable::image_bytes(shape, job, job, content);
  EXPECT_LE(bytes.value(), most_of_a_node);
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
  EXPECT_TRUE(is_ok(made.add_up_counts()));
  EXPECT_TRUE(is_ok(made.list_boxes()));
  made.build_below(0, 0);
  const std::size_t before = live_bytes();
  reset_most_live_bytes();
  const SharedDistribution held(
      array::Distribution(array::ExplicitDistribution(std::make_shared<array::BoxTable>(made))));
  for (std::int64_t of = 5; of < job; of += 9973) {
    EXPECT_EQ(held->elements(of), 100);
    EXPECT_EQ(held->pieces(of), 1);
    EXPECT_TRUE(held->piece(of, 0) == array::Region(region_of(of))) << "another region";
    EXPECT_TRUE(is_ok(held->explicit_boxes()->check_disjoint(of)));
    const auto meeting = held->pieces_meeting(
        array::Region(array::Section{{of / 1024, of % 1024, 0}, {1, 1, 512}, {1, 1, 2}}));
    EXPECT_TRUE(meeting.empty()) << "a rank has what lies between its elements";
  }
  const std::size_t most = most_live_bytes() - before;
  EXPECT_LE(most, most_of_a_rank);
}

}  // namespace
}  // namespace weir::test
