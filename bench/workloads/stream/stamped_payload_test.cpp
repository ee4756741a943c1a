#include "workloads/stream/stamped_payload.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace weir::bench::stream {
namespace {

constexpr std::int64_t file_bytes = 1 << 20;
constexpr std::int64_t page = 4096;

class Transfer {
 public:
  Transfer(std::int64_t bytes, std::int64_t offset, std::uint32_t generation = 2,
           std::uint32_t file = 0)
      : payload(7, 0, bytes),
        stamps(payload, file, generation),
        place(offset),
        data(static_cast<std::size_t>(bytes)) {
    payload.fill_body(data.data());
    stamps.stamp(data.data(), offset);
  }
  [[nodiscard]] std::optional<PayloadMismatch> check() const {
    return stamps.check(data.data(), place, file_bytes);
  }

  StampedPayload payload;
  StampedPayload::Stamps stamps;
  std::int64_t place;
  std::vector<std::byte> data;
};

TEST(StampedPayload, IsRightWhereItWasMadeFor) {
  for (const std::int64_t bytes : {8, 40, 4096, 3 * 4096, 5000 * 8}) {
    for (const std::int64_t index : {0, 1, 5}) {
      const Transfer transfer(bytes, index * bytes);
      EXPECT_TRUE(transfer.stamps.right(transfer.data.data(), index * bytes));
      EXPECT_FALSE(transfer.check()) << bytes << " at " << index * bytes;
    }
  }
}

TEST(StampedPayload, AReusedBufferIsRightAfterItsStampsAreRenewed) {
  Transfer transfer(3 * page, 0);
  transfer.stamps.stamp(transfer.data.data(), 9 * page);
  EXPECT_FALSE(transfer.stamps.check(transfer.data.data(), 9 * page, file_bytes));
  EXPECT_TRUE(transfer.stamps.check(transfer.data.data(), 0, file_bytes));
  // The check holds also where transfers do not begin on pages.
  Transfer odd(40, 0);
  odd.stamps.stamp(odd.data.data(), 40 * 102);
  EXPECT_FALSE(odd.stamps.check(odd.data.data(), 40 * 102, file_bytes));
  odd.stamps.stamp(odd.data.data(), 40 * 103);
  EXPECT_FALSE(odd.stamps.check(odd.data.data(), 40 * 103, file_bytes));
}

TEST(StampedPayload, TellsZerosFlipsAndDamage) {
  Transfer zeros(4 * page, 8 * page);
  std::memset(zeros.data.data() + page, 0, page);
  EXPECT_EQ(zeros.check()->kind, PayloadErrorKind::zeros);
  EXPECT_EQ(zeros.check()->first_byte, 9U * page);
  EXPECT_EQ(zeros.check()->bytes_wrong, static_cast<std::uint64_t>(page));

  Transfer flipped(4 * page, 8 * page);
  flipped.data[2 * page + 100] ^= std::byte{16};
  EXPECT_EQ(flipped.check()->kind, PayloadErrorKind::flipped_bit);
  EXPECT_EQ(flipped.check()->first_byte, 10U * page + 100);
  EXPECT_EQ(flipped.check()->text, "bit 4 is flipped");

  Transfer damaged(4 * page, 8 * page);
  damaged.data[3 * page + 80] = ~damaged.data[3 * page + 80];
  EXPECT_EQ(damaged.check()->kind, PayloadErrorKind::foreign);
  EXPECT_EQ(damaged.check()->first_byte, 11U * page + 80);
  EXPECT_EQ(damaged.check()->bytes_wrong, 1U);
}

TEST(StampedPayload, TellsExchangedAndStalePagesByTheirStamps) {
  Transfer swapped(4 * page, 8 * page);
  std::swap_ranges(swapped.data.begin(), swapped.data.begin() + page, swapped.data.begin() + page);
  ASSERT_TRUE(swapped.check());
  EXPECT_EQ(swapped.check()->kind, PayloadErrorKind::swapped_block);
  EXPECT_EQ(swapped.check()->text, "the data belongs at offset 36864");
  EXPECT_FALSE(swapped.stamps.right(swapped.data.data(), swapped.place));

  Transfer now(4 * page, 8 * page, 5);
  const StampedPayload::Stamps earlier(now.payload, 0, 3);
  earlier.stamp(now.data.data(), now.place);
  EXPECT_EQ(now.check()->kind, PayloadErrorKind::stale_data);
  EXPECT_EQ(now.check()->text, "data of generation 3");

  Transfer of_other_file(4 * page, 8 * page);
  const StampedPayload::Stamps other(of_other_file.payload, 9, 2);
  other.stamp(of_other_file.data.data(), of_other_file.place);
  EXPECT_EQ(of_other_file.check()->kind, PayloadErrorKind::foreign);
}

}  // namespace
}  // namespace weir::bench::stream
