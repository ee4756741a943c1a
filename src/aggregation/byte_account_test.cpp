#include "aggregation/byte_account.hpp"

#include <gtest/gtest.h>

namespace weir::aggregation {
namespace {

TEST(ByteAccount, BalancesWhereAllBytesArrived) {
  EXPECT_TRUE(ByteAccount{}.check().ok());
  EXPECT_TRUE((ByteAccount{.asked = 8, .handed = 8}).check().ok());
  EXPECT_TRUE(
      (ByteAccount{.asked = 8, .handed = 8, .due = 30, .moved = 20, .filled = 10, .holes = 5})
          .check()
          .ok());
}

TEST(ByteAccount, NamesBytesThatWentAstray) {
  for (const ByteAccount& account :
       {ByteAccount{.asked = 8, .handed = 7}, ByteAccount{.asked = 8, .handed = 9},
        ByteAccount{.due = 30, .moved = 20, .filled = 9}, ByteAccount{.moved = 1}}) {
    const Status status = account.check();
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, ErrorCode::short_transfer);
    EXPECT_NE(status.error().text().find("the library lost bytes"), std::string::npos);
  }
}

}  // namespace
}  // namespace weir::aggregation
