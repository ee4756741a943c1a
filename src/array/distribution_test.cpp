#include "array/distribution.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "array/test_random.hpp"

namespace weir::array {
namespace {

TEST(ProcessGrid, NumbersRanksInEitherOrder) {
  const ProcessGrid rows{{2, 3}, Order::row_major};
  const ProcessGrid columns{{2, 3}, Order::column_major};
  EXPECT_EQ(rows.coordinates(1), (Indices{0, 1}));
  EXPECT_EQ(columns.coordinates(1), (Indices{1, 0}));
  for (std::int64_t rank = 0; rank < 6; ++rank) {
    EXPECT_EQ(rows.rank(rows.coordinates(rank)), rank);
    EXPECT_EQ(columns.rank(columns.coordinates(rank)), rank);
  }
}

TEST(RegularDistribution, DealsAScalapackMatrix) {
  // 9 x 9 in blocks of 2 x 2 over 2 x 3 processes, as in the Users' Guide's figure 4.6.
  const std::vector<DistributionFormat> formats(2, DistributionFormat::cyclic_of(2));
  const auto distribution = RegularDistribution::create(Shape::create({9, 9}).value(), formats,
                                                        {{2, 3}, Order::row_major})
                                .value();
  EXPECT_EQ(distribution.part(0).local_extents(), (Indices{5, 4}));
  EXPECT_EQ(distribution.part(1).local_extents(), (Indices{5, 3}));
  EXPECT_EQ(distribution.part(5).local_extents(), (Indices{4, 2}));
  EXPECT_EQ(distribution.owner({8, 8}), 1);
  EXPECT_EQ(distribution.part(1).local_index({8, 8}), (Indices{4, 2}));
  EXPECT_TRUE(distribution.part(6).empty());
  EXPECT_EQ(distribution.text(), "CYCLIC(2), CYCLIC(2) over 2 x 3, row-major");
}

TEST(RegularDistribution, EveryElementIsHeldByItsOwnerAlone) {
  Random random(50);
  for (int round = 0; round < rounds(2000); ++round) {
    const Shape shape = random.shape();
    const RegularDistribution distribution = random.regular(shape);
    std::vector<std::int64_t> held(static_cast<std::size_t>(distribution.ranks()));
    std::vector<Region> parts;
    parts.reserve(held.size());
    for (std::int64_t rank = 0; rank < distribution.ranks(); ++rank) {
      parts.push_back(distribution.part(rank));
    }
    std::vector<std::set<std::int64_t>> places(parts.size());
    for (const Indices& index : all_elements(shape)) {
      const std::int64_t owner = distribution.owner(index);
      for (std::size_t rank = 0; rank < parts.size(); ++rank) {
        const bool owned = static_cast<std::int64_t>(rank) == owner;
        ASSERT_EQ(parts[rank].contains(index), owned) << "round " << round;
        if (!owned) continue;
        ++held[rank];
        // The local indices are dense: as many different places as elements, inside the extents.
        const Indices local = parts[rank].local_index(index);
        ASSERT_EQ(parts[rank].global_index(local), index) << "round " << round;
        const Shape stored = Shape::create(parts[rank].local_extents()).value();
        ASSERT_TRUE(stored.box().contains(local)) << "round " << round;
        ASSERT_TRUE(places[rank].insert(linear_number(stored, Order::row_major, local)).second);
      }
    }
    std::int64_t all = 0;
    for (std::size_t rank = 0; rank < parts.size(); ++rank) {
      ASSERT_EQ(distribution.elements(static_cast<std::int64_t>(rank)), held[rank])
          << "round " << round;
      all += held[rank];
    }
    ASSERT_EQ(all, shape.elements());
  }
}

// Each rank by itself, and each element by itself, tell the same.
TEST(RegularDistribution, RanksMeetingARegionAreItsOwners) {
  Random random(51);
  for (int round = 0; round < rounds(3000); ++round) {
    const Shape shape = random.shape();
    const RegularDistribution distribution = random.regular(shape);
    const Region region =
        random.chance(50) ? Region(random.box(shape)) : Region(random.section(shape));
    std::vector<std::int64_t> owned(static_cast<std::size_t>(distribution.ranks()));
    for (const Indices& index : all_elements(shape)) {
      if (region.contains(index)) ++owned[static_cast<std::size_t>(distribution.owner(index))];
    }
    const std::int64_t first = random.chance(40) ? 0 : random.between(0, distribution.ranks());
    const std::int64_t last =
        random.chance(40) ? distribution.ranks() : random.between(first, distribution.ranks());
    std::vector<RanksMeeting::Share> expected;
    for (std::int64_t rank = first; rank < last; ++rank) {
      const std::int64_t elements = common_elements(distribution.part(rank), region);
      ASSERT_EQ(elements, owned[static_cast<std::size_t>(rank)]) << "round " << round;
      if (elements > 0) expected.push_back({rank, elements});
    }
    std::vector<RanksMeeting::Share> found;
    RanksMeeting ranks(distribution, region, first, last);
    for (RanksMeeting::Share share; ranks.next(share);) found.push_back(share);
    ASSERT_EQ(found, expected) << "round " << round;
  }
}

TEST(RegularDistribution, PartsOfTwoDistributionsMeetInTheElementsOfBoth) {
  Random random(52);
  for (int round = 0; round < rounds(500); ++round) {
    const Shape shape = random.shape();
    const RegularDistribution memory = random.regular(shape);
    const RegularDistribution disk = random.regular(shape);
    std::vector<std::vector<std::int64_t>> expected(
        static_cast<std::size_t>(memory.ranks()),
        std::vector<std::int64_t>(static_cast<std::size_t>(disk.ranks())));
    for (const Indices& index : all_elements(shape)) {
      ++expected[static_cast<std::size_t>(memory.owner(index))]
                [static_cast<std::size_t>(disk.owner(index))];
    }
    for (std::int64_t a = 0; a < memory.ranks(); ++a) {
      for (std::int64_t b = 0; b < disk.ranks(); ++b) {
        ASSERT_EQ(common_elements(memory.part(a), disk.part(b)),
                  expected[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)])
            << "round " << round;
      }
    }
  }
}

TEST(RegularDistribution, RefusalsNameTheDimension) {
  const Shape shape = Shape::create({10, 20}).value();
  const std::vector<DistributionFormat> formats = {DistributionFormat::block_of(),
                                                   DistributionFormat::block_of(3)};
  const auto refused = RegularDistribution::create(shape, formats, {{2, 4}, Order::row_major});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("dimension 1: BLOCK(3)"), std::string::npos)
      << refused.error().message;
  EXPECT_FALSE(RegularDistribution::create(shape, formats, {{8}, Order::row_major}).ok());
  const std::vector<DistributionFormat> cyclic(2, DistributionFormat::cyclic_of());
  const std::int64_t many = std::int64_t{1} << 16;
  EXPECT_FALSE(RegularDistribution::create(shape, cyclic, {{many, many}, Order::row_major}).ok());
  EXPECT_FALSE(
      RegularDistribution::create(shape, cyclic, {{max_elements, 4}, Order::row_major}).ok());
}

// Boxes that tile the array, distributed to ranks at random, some left out.
Distribution random_boxes(Random& random, const Shape& shape) {
  const RegularDistribution tiles = random.regular(shape);
  std::vector<std::vector<Box>> of_rank(static_cast<std::size_t>(random.between(1, 9)));
  for (std::int64_t tile = 0; tile < tiles.ranks(); ++tile) {
    RegionBoxes boxes(tiles.part(tile));
    for (Box box; boxes.next(box);) {
      if (random.chance(85)) {
        of_rank[static_cast<std::size_t>(
                    random.between(0, static_cast<std::int64_t>(of_rank.size()) - 1))]
            .push_back(box);
      }
    }
  }
  BoxList boxes(shape.dimensions());
  std::vector<std::int64_t> counts;
  for (const std::vector<Box>& some : of_rank) {
    for (const Box& box : some) boxes.push_back(box);
    counts.push_back(static_cast<std::int64_t>(some.size()));
  }
  return ExplicitDistribution::create(shape, counts, boxes).value();
}

TEST(Distribution, PiecesMeetingARegionAreThoseThatHoldItsElements) {
  Random random(53);
  for (int round = 0; round < rounds(1500); ++round) {
    const Shape shape = random.shape();
    const Distribution distribution =
        random.chance(60) ? random_boxes(random, shape) : Distribution(random.regular(shape));
    const Region region =
        random.chance(50) ? Region(random.box(shape)) : Region(random.section(shape));
    std::vector<Distribution::Piece> expected;
    std::int64_t held = 0;
    for (std::int64_t rank = 0; rank < distribution.ranks(); ++rank) {
      std::int64_t of_rank = 0;
      for (std::int64_t number = 0; number < distribution.pieces(rank); ++number) {
        const Region piece = distribution.piece(rank, number);
        of_rank += piece.elements();
        bool meets = false;
        for (const Indices& index : all_elements(shape)) {
          meets = meets || (piece.contains(index) && region.contains(index));
        }
        if (meets) expected.push_back({rank, number});
      }
      ASSERT_EQ(distribution.elements(rank), of_rank) << "round " << round;
      held += of_rank;
    }
    ASSERT_LE(held, shape.elements());
    ASSERT_EQ(distribution.pieces_meeting(region), expected) << "round " << round;
  }
}

}  // namespace
}  // namespace weir::array
