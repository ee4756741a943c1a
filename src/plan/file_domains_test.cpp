#include "plan/file_domains.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "array/test_random.hpp"
#include "plan/contributions.hpp"

namespace weir::plan {
namespace {

using array::Indices;
using array::Region;

FileImage image_of(const array::Shape& shape, std::int64_t element_bytes, array::Order order,
                   std::int64_t offset) {
  return FileImage::create(shape, array::ElementType::record(element_bytes).value(), order, offset)
      .value();
}

TEST(FileDomains, AreAlignedAndContiguous) {
  const auto image =
      image_of(array::Shape::create({1000}).value(), 8, array::Order::row_major, 100);
  const auto domains =
      FileDomains::create(image, {0, 1000}, 3, 1024, DomainDealing::contiguous).value();
  // Bytes 100 to 8100 are in units 0 to 7: three for the first two aggregators, two for the last.
  EXPECT_EQ(domains.elements(domains.units(0).block(0)), (ElementRange{0, 372}));
  EXPECT_EQ(domains.elements(domains.units(1).block(0)), (ElementRange{372, 756}));
  EXPECT_EQ(domains.elements(domains.units(2).block(0)), (ElementRange{756, 1000}));
  // The element that straddles byte 3072 goes with its start.
  EXPECT_EQ(image.byte_of(371), 3068);
  EXPECT_EQ(domains.aggregator_of(371), 0);
}

TEST(FileDomains, ShareOutOnlyWhatIsCovered) {
  const auto image = image_of(array::Shape::create({1024}).value(), 8, array::Order::row_major, 0);
  const auto domains =
      FileDomains::create(image, {512, 1024}, 2, 1024, DomainDealing::contiguous).value();
  EXPECT_EQ(domains.elements(domains.units(0).block(0)), (ElementRange{512, 768}));
  EXPECT_EQ(domains.elements(domains.units(1).block(0)), (ElementRange{768, 1024}));
}

TEST(FileDomains, StripesAreDealtInTurn) {
  const auto image = image_of(array::Shape::create({1024}).value(), 8, array::Order::row_major, 0);
  const auto domains =
      FileDomains::create(image, {0, 1024}, 2, 1024, DomainDealing::striped).value();
  EXPECT_EQ(domains.aggregator_of(0), 0);
  EXPECT_EQ(domains.aggregator_of(128), 1);
  EXPECT_EQ(domains.aggregator_of(256), 0);
  EXPECT_EQ(domains.units(1).blocks(), 4);
}

TEST(FileDomains, RefusesNoAggregatorNoAlignmentAndTooSmallBuffers) {
  const auto image = image_of(array::Shape::create({1000}).value(), 8, array::Order::row_major, 0);
  const auto make = [&](std::int64_t aggregators, std::int64_t alignment) {
    return FileDomains::create(image, {0, 1000}, aggregators, alignment, DomainDealing::striped);
  };
  EXPECT_FALSE(make(0, 1024).ok());
  EXPECT_FALSE(make(4, 0).ok());
  const FileDomains domains = make(4, 1024).value();
  EXPECT_FALSE(DomainPieces::create(domains, 0, 7).ok());
  EXPECT_TRUE(DomainPieces::create(domains, 0, 8).ok());
}

// The two-phase schedule's data: every element of the file is in one piece of one aggregator, no
// piece exceeds the buffer, no unit is shared, and each piece's contributors are those who hold it.
TEST(FileDomains, PiecesAreCompleteDisjointBoundedAndInOrder) {
  array::Random random(210);
  for (int round = 0; round < 1500; ++round) {
    const array::Shape shape = random.shape();
    const std::int64_t element_bytes = random.between(1, 12);
    const FileImage image = image_of(shape, element_bytes, random.order(), random.between(0, 50));
    const std::int64_t first = random.between(0, shape.elements() / 2);
    const ElementRange covered{first, random.between(first, shape.elements())};
    const std::int64_t alignment = random.between(1, 200);
    const std::int64_t buffer = random.between(element_bytes, 500);
    const auto domains =
        FileDomains::create(image, covered, random.between(1, 9), alignment,
                            random.chance(50) ? DomainDealing::contiguous : DomainDealing::striped)
            .value();
    std::vector<int> times(static_cast<std::size_t>(shape.elements()));
    std::map<std::int64_t, std::int64_t> aggregator_of_unit;
    for (std::int64_t aggregator = 0; aggregator < domains.aggregators(); ++aggregator) {
      auto pieces = DomainPieces::create(domains, aggregator, buffer).value();
      std::int64_t end = 0;
      for (ElementRange piece; pieces.next(piece);) {
        ASSERT_GT(piece.size(), 0) << "round " << round;
        ASSERT_GE(piece.first, end) << "round " << round;
        ASSERT_LE(piece.size() * element_bytes, buffer) << "round " << round;
        end = piece.last;
        for (std::int64_t element = piece.first; element < piece.last; ++element) {
          ++times[static_cast<std::size_t>(element)];
          ASSERT_EQ(domains.aggregator_of(element), aggregator) << "round " << round;
          const auto owner =
              aggregator_of_unit.emplace(image.byte_of(element) / alignment, aggregator).first;
          ASSERT_EQ(owner->second, aggregator) << "round " << round;
        }
      }
    }
    for (std::int64_t element = 0; element < shape.elements(); ++element) {
      ASSERT_EQ(times[static_cast<std::size_t>(element)],
                element >= covered.first && element < covered.last ? 1 : 0)
          << "round " << round;
    }
  }
}

TEST(DomainPieces, EndAtUnitsWhereTheBufferHoldsThem) {
  const auto image =
      image_of(array::Shape::create({4096}).value(), 8, array::Order::row_major, 512);
  const auto domains =
      FileDomains::create(image, {0, 4096}, 2, 1024, DomainDealing::contiguous).value();
  auto pieces = DomainPieces::create(domains, 0, 5000).value();
  std::vector<std::int64_t> ends;
  for (ElementRange piece; pieces.next(piece);) ends.push_back(image.byte_of(piece.last));
  EXPECT_EQ(ends, (std::vector<std::int64_t>{5120, 9216, 13312, 17408}));
}

TEST(Contributions, AreWhatEachRankHoldsOfThePiece) {
  array::Random random(211);
  for (int round = 0; round < 1000; ++round) {
    const array::Shape shape = random.shape();
    const auto distribution = random.regular(shape);
    const Region asked_for = Region(random.section(shape));
    const FileImage image = image_of(shape, 8, random.order(), 0);
    const std::int64_t first = random.between(0, shape.elements());
    const ElementRange range{first, random.between(first, shape.elements())};
    std::map<std::int64_t, std::int64_t> expected;
    for (std::int64_t number = range.first; number < range.last; ++number) {
      const Indices index = array::index_of_number(shape, image.order(), number);
      if (asked_for.contains(index)) ++expected[distribution.owner(index)];
    }
    std::vector<Contribution> wanted;
    wanted.reserve(expected.size());
    for (const auto& [rank, elements] : expected) wanted.push_back({{rank, 0}, elements});
    ASSERT_EQ(contributions(distribution, asked_for, image, range), wanted) << "round " << round;
  }
}

TEST(Contributions, ToAPieceOfAFileOfAMillionRanksComeFromFew) {
  const std::int64_t side = std::int64_t{1} << 14;
  const std::vector<array::DistributionFormat> formats(3, array::DistributionFormat::block_of());
  const auto shape = array::Shape::create({side, side, side}).value();
  const auto distribution =
      array::RegularDistribution::create(shape, formats, {{64, 128, 128}, array::Order::row_major})
          .value();
  const FileImage image = image_of(shape, 8, array::Order::row_major, 0);
  const auto domains =
      FileDomains::create(image, {0, shape.elements()}, 4096, 1 << 20, DomainDealing::contiguous)
          .value();
  auto pieces = DomainPieces::create(domains, 2048, 16 << 20).value();
  ElementRange piece;
  ASSERT_TRUE(pieces.next(piece));
  ASSERT_TRUE(pieces.next(piece));
  EXPECT_EQ(piece.size() * 8, 16 << 20);
  // 128 rows of 16,384: all of one row of processes, 128 ranks with 16,384 elements each.
  const auto found = contributions(distribution, Region(shape.box()), image, piece);
  EXPECT_EQ(found.size(), 128U);
  for (const Contribution& one : found) EXPECT_EQ(one.elements, 16384);
}

}  // namespace
}  // namespace weir::plan
