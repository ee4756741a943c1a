#include "plan/direct_transfers.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "array/test_random.hpp"

namespace weir::plan {
namespace {

using array::Indices;
using array::Region;

// Each rank's transfers, carried out on a file in memory: every element asked for arrives at its
// place, from one rank, and nothing else is touched.
TEST(DirectTransfers, PutEveryElementAskedForInItsPlaceOnce) {
  array::Random random(200);
  for (int round = 0; round < 1000; ++round) {
    const array::Shape shape = random.shape();
    const auto distribution = random.regular(shape);
    const Region asked_for =
        random.chance(50) ? Region(random.section(shape)) : Region(shape.box());
    const auto image =
        FileImage::create(shape, array::ElementKind::int64, random.order(), random.between(0, 100))
            .value();
    std::vector<std::byte> file(static_cast<std::size_t>(image.layout().bounds().upper));
    std::int64_t bytes_written = 0;
    for (std::int64_t rank = 0; rank < distribution.ranks(); ++rank) {
      const Region part = distribution.part(rank);
      const auto memory = array::Layout::packed(part.local_extents(), 8, random.order()).value();
      std::vector<std::byte> held(static_cast<std::size_t>(memory.bounds().upper));
      for (const Indices& index : array::all_elements(shape)) {
        if (!part.contains(index)) continue;
        const std::int64_t value = 1 + array::linear_number(shape, array::Order::row_major, index);
        std::memcpy(held.data() + memory.offset_of(part.local_index(index)), &value, 8);
      }
      DirectTransfers transfers(part, asked_for, memory, image);
      for (array::StridedCopy transfer; transfers.next(transfer);) {
        bytes_written += transfer.bytes * transfer.runs();
        transfer.run(held.data(), file.data());
        for (int level = 1; level < transfer.levels.size(); ++level) {
          ASSERT_GE(transfer.levels[level - 1].to_stride, transfer.levels[level].to_stride);
        }
      }
    }
    ASSERT_EQ(bytes_written, asked_for.elements() * 8) << "round " << round;
    for (const Indices& index : array::all_elements(shape)) {
      std::int64_t value = 0;
      std::memcpy(&value, file.data() + image.layout().offset_of(index), 8);
      const std::int64_t expected =
          asked_for.contains(index)
              ? 1 + array::linear_number(shape, array::Order::row_major, index)
              : 0;
      ASSERT_EQ(value, expected) << "round " << round;
    }
  }
}

TEST(DirectTransfers, OfOneRankOfAMillionAreOneValue) {
  const std::int64_t side = std::int64_t{1} << 14;
  const std::vector<array::DistributionFormat> formats(3, array::DistributionFormat::block_of());
  const auto shape = array::Shape::create({side, side, side}).value();
  const auto distribution =
      array::RegularDistribution::create(shape, formats, {{64, 128, 128}, array::Order::row_major})
          .value();
  const auto image =
      FileImage::create(shape, array::ElementKind::float64, array::Order::row_major, 4096).value();
  const Region part = distribution.part(777777);
  const auto memory =
      array::Layout::packed(part.local_extents(), 8, array::Order::row_major).value();
  DirectTransfers transfers(part, Region(shape.box()), memory, image);
  array::StridedCopy transfer;
  ASSERT_TRUE(transfers.next(transfer));
  EXPECT_EQ(transfer.bytes, 128 * 8);
  EXPECT_EQ(transfer.runs(), 256 * 128);
  EXPECT_FALSE(transfers.next(transfer));
}

TEST(FileImage, RefusesWhatFilesCannotHold) {
  const std::int64_t tebi = std::int64_t{1} << 40;
  const auto shape = array::Shape::create({tebi, 1 << 20}).value();
  EXPECT_TRUE(FileImage::create(shape, array::ElementKind::int32, array::Order::row_major, 0).ok());
  EXPECT_FALSE(
      FileImage::create(shape, array::ElementKind::int64, array::Order::row_major, 0).ok());
  EXPECT_FALSE(
      FileImage::create(shape, array::ElementKind::int8, array::Order::row_major, -1).ok());
}

}  // namespace
}  // namespace weir::plan
