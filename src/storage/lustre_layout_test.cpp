#include "storage/lustre_layout.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <span>
#include <vector>

#include "storage/file_targets.hpp"

namespace weir::storage {
namespace {

// Writes fields one after the other in the node's byte order, as the kernel does.
class LayoutAttribute {
 public:
  template <typename T>
  LayoutAttribute& add(T value) {
    const std::size_t at = bytes_.size();
    bytes_.resize(at + sizeof value);
    std::memcpy(bytes_.data() + at, &value, sizeof value);
    return *this;
  }
  LayoutAttribute& add_plain(std::uint32_t stripe_bytes, std::uint16_t stripe_count) {
    return add<std::uint32_t>(0x0BD10BD0)
        .add<std::uint32_t>(1)
        .add<std::uint64_t>(0)
        .add<std::uint64_t>(0)
        .add(stripe_bytes)
        .add(stripe_count)
        .add<std::uint16_t>(0xFFFF);
  }
  [[nodiscard]] std::vector<std::byte> bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

TEST(LustreLayout, ReadsAPlainLayout) {
  const auto layout = parse_lustre_layout(LayoutAttribute().add_plain(1 << 20, 4).bytes());
  ASSERT_TRUE(layout);
  EXPECT_EQ(*layout, nlohmann::json::parse(
                         R"({"stripe_bytes": 1048576, "stripe_count": 4, "first_target": -1,
                             "pool": ""})"));
}

TEST(LustreLayout, ReadsThePoolOfVersion3) {
  LayoutAttribute attribute;
  attribute.add<std::uint32_t>(0x0BD30BD0).add<std::uint32_t>(1);
  attribute.add<std::uint64_t>(0).add<std::uint64_t>(0).add<std::uint32_t>(1 << 22);
  attribute.add<std::uint16_t>(0xFFFF).add<std::uint16_t>(3);
  for (const char c : {'f', 'l', 'a', 's', 'h'}) attribute.add(c);
  for (int i = 5; i < 16; ++i) attribute.add('\0');
  const auto layout = parse_lustre_layout(attribute.bytes());
  ASSERT_TRUE(layout);
  EXPECT_EQ((*layout)["pool"], "flash");
  EXPECT_EQ((*layout)["stripe_count"], -1);
  EXPECT_EQ((*layout)["first_target"], 3);
}

LayoutAttribute composite_of_two() {
  constexpr std::uint32_t first_at = 32 + 2 * 48;
  LayoutAttribute attribute;
  attribute.add<std::uint32_t>(0x0BD60BD0).add<std::uint32_t>(0).add<std::uint32_t>(0);
  attribute.add<std::uint16_t>(0).add<std::uint16_t>(2);
  attribute.add<std::uint64_t>(0).add<std::uint64_t>(0);
  const auto entry = [&attribute](std::uint64_t from, std::uint64_t to, std::uint32_t at) {
    attribute.add<std::uint32_t>(1).add<std::uint32_t>(0).add(from).add(to).add(at);
    attribute.add<std::uint32_t>(32).add<std::uint32_t>(0).add<std::uint64_t>(0);
    attribute.add<std::uint32_t>(0);
  };
  entry(0, 1 << 30, first_at);
  entry(1 << 30, ~std::uint64_t{0}, first_at + 32);
  return attribute.add_plain(1 << 20, 1).add_plain(1 << 22, 8);
}

TEST(LustreLayout, ReadsACompositeLayout) {
  const auto layout = parse_lustre_layout(composite_of_two().bytes());
  ASSERT_TRUE(layout);
  ASSERT_EQ((*layout)["components"].size(), 2U);
  EXPECT_EQ((*layout)["components"][0]["to_byte"], 1 << 30);
  EXPECT_EQ((*layout)["components"][1]["from_byte"], 1 << 30);
  EXPECT_EQ((*layout)["components"][1]["to_byte"], -1);
  EXPECT_EQ((*layout)["components"][1]["stripe_count"], 8);
}

TEST(LustreLayout, RefusesEveryTruncation) {
  const std::vector<std::byte> whole = composite_of_two().bytes();
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(parse_lustre_layout(std::span(whole).first(size))) << size << " bytes";
  EXPECT_FALSE(parse_lustre_layout(std::vector<std::byte>(64)));
}

TEST(LustreLayout, IsHowFilesLie) {
  using topology::FileTargets;
  const auto targets = [](const LayoutAttribute& attribute) {
    constexpr std::uint32_t lustre = 0x0BD00BD0;
    return targets_of(lustre, 4 << 20, lustre_targets(*parse_lustre_layout(attribute.bytes())));
  };
  EXPECT_EQ(targets(LayoutAttribute().add_plain(1 << 20, 4)), (FileTargets{4, 1 << 20, 1 << 20}));
  EXPECT_EQ(targets(composite_of_two()), (FileTargets{8, 4 << 20, 4 << 20}));
  // On as many targets as there are (-1), which the layout does not tell; and with nothing told.
  EXPECT_EQ(targets(LayoutAttribute().add_plain(1 << 20, 0xFFFF)),
            (FileTargets{1, 1 << 20, 1 << 20}));
  EXPECT_EQ(targets(LayoutAttribute().add_plain(0, 0)), (FileTargets{1, 4 << 20, 4 << 20}));
}

}  // namespace
}  // namespace weir::storage
