#include "array/distribution_format.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "array/test_random.hpp"

namespace weir::array {
namespace {

using Format = DistributionFormat;

std::vector<std::int64_t> indices_at_positions(const IndexBlocks& blocks) {
  std::vector<std::int64_t> indices;
  indices.reserve(static_cast<std::size_t>(blocks.size()));
  for (std::int64_t position = 0; position < blocks.size(); ++position) {
    indices.push_back(blocks.at(position));
  }
  return indices;
}

std::vector<std::int64_t> part(const Format& format, std::int64_t extent, std::int64_t processes,
                               std::int64_t coordinate) {
  return indices_at_positions(
      DistributedDimension::create(format, extent, processes).value().part(coordinate));
}

using Numbers = std::vector<std::int64_t>;

// HPF's BLOCK rounds the block up: 10 over 4 is 3, 3, 3, 1 and 9 over 4 is 3, 3, 3, none.
TEST(DistributionFormat, BlockRoundsUpAsHpfDoes) {
  EXPECT_EQ(part(Format::block_of(), 10, 4, 0), (Numbers{0, 1, 2}));
  EXPECT_EQ(part(Format::block_of(), 10, 4, 3), (Numbers{9}));
  EXPECT_EQ(part(Format::block_of(), 9, 4, 2), (Numbers{6, 7, 8}));
  EXPECT_EQ(part(Format::block_of(), 9, 4, 3), (Numbers{}));
  EXPECT_EQ(part(Format::block_of(5), 10, 4, 1), (Numbers{5, 6, 7, 8, 9}));
  EXPECT_EQ(part(Format::block_of(5), 10, 4, 2), (Numbers{}));
  EXPECT_EQ(part(Format::block_of(99), 10, 4, 0).size(), 10U);
}

TEST(DistributionFormat, CyclicDealsInTurn) {
  EXPECT_EQ(part(Format::cyclic_of(), 10, 4, 1), (Numbers{1, 5, 9}));
  EXPECT_EQ(part(Format::cyclic_of(2), 11, 3, 1), (Numbers{2, 3, 8, 9}));
  EXPECT_EQ(part(Format::cyclic_of(2), 11, 3, 2), (Numbers{4, 5, 10}));
  EXPECT_EQ(part(Format::cyclic_of(2, 2), 11, 3, 2), (Numbers{0, 1, 6, 7}));
  EXPECT_EQ(part(Format::cyclic_of(2, 2), 11, 3, 0), (Numbers{2, 3, 8, 9}));
  EXPECT_EQ(part(Format::cyclic_of(50), 11, 3, 0).size(), 11U);
}

TEST(DistributionFormat, UndistributedHoldsAll) {
  EXPECT_EQ(part(Format::whole_dimension(), 4, 1, 0), (Numbers{0, 1, 2, 3}));
}

TEST(DistributionFormat, NothingToDealGivesNothing) {
  for (const Format& format : {Format::block_of(), Format::block_of(3), Format::cyclic_of(2)}) {
    EXPECT_EQ(part(format, 0, 4, 0), (Numbers{})) << format.text();
  }
}

// ScaLAPACK's NUMROC, from its description in the Users' Guide: whole rounds of blocks for all, one
// block more for the processes before the one with the last, incomplete block.
std::int64_t numroc(std::int64_t n, std::int64_t nb, std::int64_t process, std::int64_t source,
                    std::int64_t processes) {
  const std::int64_t distance = (processes + process - source) % processes;
  const std::int64_t blocks = n / nb;
  const std::int64_t extra = blocks % processes;
  const std::int64_t rows = blocks / processes * nb;
  if (distance < extra) return rows + nb;
  return distance == extra ? rows + n % nb : rows;
}

TEST(DistributionFormat, SizesAreThoseOfNumroc) {
  for (const std::int64_t n : {0, 1, 5, 31, 32, 33, 64, 100, 257}) {
    for (const std::int64_t nb : {1, 3, 32}) {
      for (const std::int64_t processes : {1, 2, 3, 4}) {
        for (std::int64_t source = 0; source < processes; ++source) {
          const auto distributed =
              DistributedDimension::create(Format::cyclic_of(nb, source), n, processes).value();
          for (std::int64_t process = 0; process < processes; ++process) {
            EXPECT_EQ(distributed.size(process), numroc(n, nb, process, source, processes))
                << n << " in " << nb << "s to " << process << " of " << processes << " from "
                << source;
          }
        }
      }
    }
  }
}

TEST(DistributionFormat, EveryIndexHasOneOwner) {
  for (const Format& format : {Format::block_of(), Format::block_of(17), Format::cyclic_of(),
                               Format::cyclic_of(3), Format::cyclic_of(4, 1)}) {
    for (const std::int64_t extent : {1, 2, 7, 16, 30}) {
      for (const std::int64_t processes : {2, 3, 5}) {
        const auto distributed = DistributedDimension::create(format, extent, processes).value();
        for (std::int64_t index = 0; index < extent; ++index) {
          for (std::int64_t process = 0; process < processes; ++process) {
            EXPECT_EQ(distributed.part(process).contains(index),
                      distributed.owner(index) == process)
                << format.text() << " of " << extent << " over " << processes;
          }
        }
      }
    }
  }
}

TEST(DistributionFormat, SharesAreThoseOfTheOwnersOfTheIndices) {
  Random random(40);
  for (int round = 0; round < rounds(5000); ++round) {
    const std::int64_t extent = random.between(1, 80);
    const std::int64_t processes = random.between(1, 12);
    const Format format = random.chance(30) ? Format::block_of()
                                            : Format::cyclic_of(random.between(1, 9),
                                                                random.between(0, processes - 1));
    const auto distributed = DistributedDimension::create(format, extent, processes).value();
    const IndexBlocks indices = random.blocks(extent).clipped(0, extent);
    Numbers owned(static_cast<std::size_t>(processes));
    for (const std::int64_t index : indices_at_positions(indices)) {
      ++owned[static_cast<std::size_t>(distributed.owner(index))];
    }
    const std::int64_t first = random.chance(40) ? 0 : random.between(0, processes);
    const std::int64_t last = random.chance(40) ? processes : random.between(first, processes);
    std::vector<DistributedDimension::Share> expected;
    for (std::int64_t process = first; process < last; ++process) {
      const std::int64_t size = owned[static_cast<std::size_t>(process)];
      if (size > 0) expected.push_back({process, size});
    }
    std::vector<DistributedDimension::Share> found;
    const std::int64_t looked_at = distributed.add_shares(indices, {first, last}, found);
    ASSERT_EQ(found, expected) << "round " << round;
    ASSERT_GE(looked_at, std::ssize(found)) << "round " << round;
    ASSERT_LE(looked_at, last - first) << "round " << round;
  }
}

TEST(DistributionFormat, RefusesWhatCannotBeDistributed) {
  const auto distributed = [](const Format& format, std::int64_t extent, std::int64_t processes) {
    return DistributedDimension::create(format, extent, processes).ok();
  };
  EXPECT_TRUE(distributed(Format::block_of(4), 16, 4));
  EXPECT_FALSE(distributed(Format::block_of(3), 16, 4));
  EXPECT_FALSE(distributed(Format::block_of(-1), 16, 4));
  EXPECT_FALSE(distributed(Format::whole_dimension(), 16, 4));
  EXPECT_FALSE(distributed(Format::block_of(), 16, 0));
  EXPECT_FALSE(distributed(Format::cyclic_of(2, 4), 16, 4));
  EXPECT_FALSE(distributed(Format::cyclic_of(2, -1), 16, 4));
  EXPECT_FALSE(distributed({Format::Kind::block, 4, 1}, 16, 4));
}

TEST(DistributionFormat, TextIsReadBack) {
  for (const Format& format :
       {Format::whole_dimension(), Format::block_of(), Format::block_of(100), Format::cyclic_of(),
        Format::cyclic_of(32), Format::cyclic_of(32, 3)}) {
    EXPECT_EQ(Format::parse(format.text()).value(), format) << format.text();
  }
  EXPECT_EQ(Format::parse("cyclic(32)").value(), Format::cyclic_of(32));
  EXPECT_EQ(Format::cyclic_of(32, 3).text(), "CYCLIC(32,from=3)");
}

TEST(DistributionFormat, RefusesOtherText) {
  for (const char* text : {"", "BLOC", "BLOCK()", "BLOCK(0)", "BLOCK(-4)", "BLOCK(4", "BLOCK 4",
                           "BLOCK(4))", "BLOCK(4,from=1)", "CYCLIC(4,from=-1)", "CYCLIC(4,1)", "**",
                           "BLOCK(99999999999999999999)"}) {
    EXPECT_FALSE(Format::parse(text).ok()) << text;
  }
}

}  // namespace
}  // namespace weir::array
