#include "array/record_members.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace weir::array {
namespace {

TEST(RecordMembers, LieOneBehindTheOther) {
  const auto found = parse_record_members("file name:text[80],value:float64,is it:bool",
                                          ElementType::record(89).value());
  ASSERT_TRUE(found.ok()) << found.error().message;
  ASSERT_EQ(found.value().size(), 3U);
  EXPECT_EQ(found.value()[0].name, "file name");
  EXPECT_EQ(found.value()[0].type, ElementType::text(80).value());
  EXPECT_EQ(found.value()[1].offset, 80);
  EXPECT_EQ(found.value()[2].offset, 88);
  EXPECT_EQ(found.value()[2].type, ElementType(ElementKind::boolean));
}

TEST(RecordMembers, AreRefusedByName) {
  const ElementType record = ElementType::record(8).value();
  for (const auto& [text, reason] :
       {std::pair("", "NAME:TYPE"), std::pair("a:int32,", "NAME:TYPE"),
        std::pair(":int64", "NAME:TYPE"), std::pair("a", "NAME:TYPE"),
        std::pair("a:int33,b:int32", "unknown element type 'int33'"),
        std::pair("a:int32,a:int32", "'a' twice"), std::pair("a:record[8]", "record[8]"),
        std::pair("a:utf32[2]", "utf32[2]"), std::pair("a:int32", "4 bytes"),
        std::pair("a:int64,b:int8", "9 bytes, but the elements are record[8]")}) {
    const auto found = parse_record_members(text, record);
    ASSERT_FALSE(found.ok()) << text;
    EXPECT_NE(found.error().message.find(reason), std::string::npos) << found.error().message;
  }
}

TEST(RecordMembers, AreAtMostSoMany) {
  std::string text = "m0:int8";
  for (std::size_t i = 1; i < most_record_members; ++i) text += fmt::format(",m{}:int8", i);
  const auto bytes = static_cast<std::int64_t>(most_record_members);
  EXPECT_TRUE(parse_record_members(text, ElementType::record(bytes).value()).ok());
  EXPECT_FALSE(
      parse_record_members(text + ",more:int8", ElementType::record(bytes + 1).value()).ok());
}

}  // namespace
}  // namespace weir::array
