#include "array/box_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "array/box_list.hpp"
#include "array/explicit_distribution.hpp"
#include "array/test_random.hpp"

namespace weir::array {
namespace {

using Numbers = std::vector<std::int64_t>;

// All boxes on one rank.
ExplicitDistribution held_by_one(const Shape& shape, const BoxList& boxes) {
  return ExplicitDistribution::create(shape, Numbers{boxes.size()}, boxes).value();
}

TEST(BoxTable, FindsTheBoxesThatMeet) {
  Random random(60);
  for (int round = 0; round < rounds(1000); ++round) {
    const Shape shape = random.shape();
    BoxList boxes(shape.dimensions());
    const std::int64_t count = random.between(0, 100);
    for (std::int64_t number = 0; number < count; ++number) boxes.push_back(random.box(shape));
    const Box asked = random.box(shape);
    Numbers expected;
    for (std::int64_t number = 0; number < count; ++number) {
      if (!intersect(boxes[number], asked).empty()) expected.push_back(number);
    }
    ASSERT_EQ(held_by_one(shape, boxes).boxes().meeting(asked), expected) << "round " << round;
  }
}

TEST(BoxTable, FindsTheFirstOverlapOfAllPairs) {
  Random random(61);
  int overlapping = 0;
  int disjoint = 0;
  for (int round = 0; round < rounds(2000); ++round) {
    const Shape shape = random.shape();
    // Disjoint tiles; in every second round one box more that may overlap.
    const RegularDistribution tiles = random.regular(shape);
    BoxList boxes(shape.dimensions());
    for (std::int64_t rank = 0; rank < tiles.ranks(); ++rank) {
      RegionBoxes of_rank(tiles.part(rank));
      for (Box box; of_rank.next(box);) boxes.push_back(box);
    }
    if (round % 2 == 1) boxes.push_back(random.box(shape));
    const ExplicitDistribution held = held_by_one(shape, boxes);
    std::optional<std::pair<std::int64_t, std::int64_t>> found;
    for (std::int64_t number = 0; number < boxes.size() && !found; ++number) {
      const auto other = held.boxes().overlapping(number);
      if (other) found = {number, *other};
    }
    std::optional<std::pair<std::int64_t, std::int64_t>> expected;
    for (std::int64_t a = 0; a < boxes.size() && !expected; ++a) {
      for (std::int64_t b = a + 1; b < boxes.size() && !expected; ++b) {
        if (meet(boxes[a], boxes[b])) expected = {a, b};
      }
    }
    ASSERT_EQ(found, expected) << "round " << round;
    ASSERT_EQ(held.check_disjoint().ok(), !expected) << "round " << round;
    ++(found ? overlapping : disjoint);
  }
  EXPECT_GT(overlapping, 100);
  EXPECT_GT(disjoint, 100);
}

// Two nodes of several processes each make their images together, as BoxTable says.
class MadeInParts {
 public:
  MadeInParts(const Shape& shape, const std::vector<BoxList>& of_rank) {
    std::int64_t boxes = 0;
    for (const BoxList& mine : of_rank) boxes += mine.size();
    ranks_ = static_cast<std::int64_t>(of_rank.size());
    bytes_ = BoxTable::image_bytes(shape, ranks_, boxes).value();
    for (int node = 0; node < 2; ++node) {
      words_.emplace_back(static_cast<std::size_t>(bytes_) / 8);
      tables_.emplace_back(shape, ranks_, boxes,
                           std::shared_ptr<std::byte>(std::shared_ptr<std::byte>(), image(node)));
    }
    each_rank([&](std::size_t rank, const BoxTable& table) {
      table.set_count(static_cast<std::int64_t>(rank), of_rank[rank].size());
    });
    exchange([](const BoxTable& table) { return table.count_words(); });
    for (const BoxTable& table : tables_) EXPECT_TRUE(table.add_up_counts().ok());
    each_rank([&](std::size_t rank, const BoxTable& table) {
      EXPECT_TRUE(table.set_boxes(static_cast<std::int64_t>(rank), of_rank[rank].numbers()).ok());
    });
    exchange([](const BoxTable& table) { return table.box_words(); });
    for (const BoxTable& table : tables_) EXPECT_TRUE(table.list_boxes().ok());
  }

  void build(int levels) const {
    for (const BoxTable& table : tables_) {
      for (int level = 0; level < levels; ++level) {
        for (std::int64_t node = 0; node < std::int64_t{1} << level; ++node) {
          table.split(level, node);
        }
      }
      for (std::int64_t node = (std::int64_t{1} << levels) - 1; node >= 0; --node) {
        table.build_below(levels, node);
      }
      table.bound_above(levels);
    }
  }

  [[nodiscard]] const BoxTable& table(int node) const {
    return tables_[static_cast<std::size_t>(node)];
  }
  [[nodiscard]] std::byte* image(int node) {
    return reinterpret_cast<std::byte*>(words_[static_cast<std::size_t>(node)].data());
  }
  [[nodiscard]] std::size_t bytes() const { return static_cast<std::size_t>(bytes_); }

 private:
  // Ranks with even numbers are on node 0.
  template <typename Visit>
  void each_rank(Visit visit) const {
    for (std::size_t rank = 0; rank < static_cast<std::size_t>(ranks_); ++rank) {
      visit(rank, tables_[rank % 2]);
    }
  }
  template <typename Words>
  void exchange(Words words) const {
    const auto first = words(tables_[0]);
    const auto second = words(tables_[1]);
    for (std::size_t i = 0; i < first.size(); ++i) {
      first[i] |= second[i];
      second[i] = first[i];
    }
  }

  std::int64_t ranks_ = 0;
  std::int64_t bytes_ = 0;
  std::vector<std::vector<std::uint64_t>> words_;
  std::vector<BoxTable> tables_;
};

TEST(BoxTable, IsTheSameMadeInPartsOnSeveralNodesAndReadElsewhere) {
  Random random(62);
  for (int round = 0; round < rounds(300); ++round) {
    const Shape shape = random.shape();
    std::vector<BoxList> of_rank;
    BoxList all(shape.dimensions());
    Numbers counts;
    const std::int64_t ranks = random.between(1, 9);
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      BoxList mine(shape.dimensions());
      const std::int64_t count = random.chance(20) ? 0 : random.between(0, 40);
      for (std::int64_t i = 0; i < count; ++i) {
        mine.push_back(random.box(shape));
        all.push_back(mine[i]);
      }
      counts.push_back(count);
      of_rank.push_back(mine);
    }
    const auto held = ExplicitDistribution::create(shape, counts, all).value();
    MadeInParts made(shape, of_rank);
    made.build(static_cast<int>(random.between(0, 6)));
    ASSERT_EQ(std::memcmp(made.image(0), made.image(1), made.bytes()), 0) << "round " << round;
    // At another address, as another process maps it.
    std::vector<std::uint64_t> copy(made.bytes() / 8);
    std::memcpy(copy.data(), made.image(1), made.bytes());
    const BoxTable elsewhere(shape, ranks, all.size(),
                             std::shared_ptr<std::byte>(std::shared_ptr<std::byte>(),
                                                        reinterpret_cast<std::byte*>(copy.data())));
    std::memset(made.image(1), 0xff, made.bytes());
    ASSERT_TRUE(elsewhere == held.boxes());
    ASSERT_EQ(elsewhere.digest(), held.boxes().digest());
    ASSERT_EQ(elsewhere.elements(), held.boxes().elements());
    for (int asked = 0; asked < 5; ++asked) {
      const Box box = random.box(shape);
      ASSERT_EQ(elsewhere.meeting(box), held.boxes().meeting(box)) << "round " << round;
    }
    for (std::int64_t number = 0; number < all.size(); ++number) {
      ASSERT_EQ(elsewhere[number], all[number]);
      ASSERT_EQ(elsewhere.rank_of_box(number), held.rank_of_box(number));
    }
  }
}

TEST(BoxTable, DiffersByAnyBoxAndAnyCount) {
  const Shape shape = Shape::create({10, 10}).value();
  BoxList boxes(2);
  boxes.push_back({{0, 0}, {4, 4}});
  boxes.push_back({{4, 4}, {2, 2}});
  BoxList others(2);
  others.push_back({{0, 0}, {4, 4}});
  others.push_back({{4, 4}, {2, 3}});
  const auto held = ExplicitDistribution::create(shape, Numbers{1, 1}, boxes).value();
  const auto same = ExplicitDistribution::create(shape, Numbers{1, 1}, boxes).value();
  EXPECT_EQ(held, same);
  EXPECT_EQ(held.boxes().digest(), same.boxes().digest());
  for (const auto& other : {ExplicitDistribution::create(shape, Numbers{2, 0}, boxes).value(),
                            ExplicitDistribution::create(shape, Numbers{1, 1}, others).value()}) {
    EXPECT_FALSE(held == other);
    EXPECT_NE(held.boxes().digest(), other.boxes().digest());
  }
}

TEST(BoxTable, RefusesATableOfMoreThan63Bits) {
  const Shape shape = Shape::create({10, 10, 10}).value();
  EXPECT_TRUE(BoxTable::image_bytes(shape, 1 << 17, 100 * (1 << 17)).ok());
  EXPECT_FALSE(BoxTable::image_bytes(shape, 1, std::numeric_limits<std::int64_t>::max() / 8).ok());
}

// The figure that is aimed at: 131,072 ranks with 100 boxes each, at most 1.5 GiB on a node.
TEST(BoxTable, TakesAtMostSoManyBytes) {
  const Shape shape = Shape::create({1 << 14, 1 << 14, 1 << 14}).value();
  EXPECT_LE(BoxTable::image_bytes(shape, 1 << 17, 100 * (1 << 17)).value(), 471 << 20);
  const Shape wide = Shape::create({std::int64_t{1} << 33, 1 << 10, 1 << 10}).value();
  EXPECT_LE(BoxTable::image_bytes(wide, 1 << 17, 100 * (1 << 17)).value(), 1 << 30);
}

}  // namespace
}  // namespace weir::array
