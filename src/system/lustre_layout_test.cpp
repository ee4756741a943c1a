#include "system/lustre_layout.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "system/file_targets.hpp"
#include "system/test_folder.hpp"

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
  EXPECT_FALSE(layout->is_composite);
  ASSERT_EQ(layout->components.size(), 1U);
  EXPECT_EQ(
      layout->components[0].stripes,
      (LustreStripes{.stripe_bytes = 1 << 20, .stripe_count = 4, .first_target = -1, .pool = ""}));
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
  ASSERT_EQ(layout->components.size(), 1U);
  EXPECT_EQ(layout->components[0].stripes,
            (LustreStripes{
                .stripe_bytes = 1 << 22, .stripe_count = -1, .first_target = 3, .pool = "flash"}));
}

// 1 MiB stripes on one target for 1 GiB, then 4 MiB stripes on `then`.
LayoutAttribute composite_of_two(std::uint16_t then = 8) {
  constexpr std::uint32_t first_at = 32 + 2 * 48;
  LayoutAttribute attribute;
  attribute.add<std::uint32_t>(0x0BD60BD0).add<std::uint32_t>(0).add<std::uint32_t>(0);
  attribute.add<std::uint16_t>(0).add<std::uint16_t>(2);
  attribute.add<std::uint64_t>(0).add<std::uint64_t>(0);
  // The second one has no objects yet.
  const auto entry = [&attribute](std::uint64_t from, std::uint64_t to, std::uint32_t at) {
    attribute.add<std::uint32_t>(1).add<std::uint32_t>(from == 0 ? 0x10 : 0);
    attribute.add(from).add(to).add(at);
    attribute.add<std::uint32_t>(32).add<std::uint32_t>(0).add<std::uint64_t>(0);
    attribute.add<std::uint32_t>(0);
  };
  entry(0, 1 << 30, first_at);
  entry(1 << 30, ~std::uint64_t{0}, first_at + 32);
  return attribute.add_plain(1 << 20, 1).add_plain(1 << 22, then);
}

TEST(LustreLayout, ReadsACompositeLayout) {
  const auto layout = parse_lustre_layout(composite_of_two().bytes());
  ASSERT_TRUE(layout);
  EXPECT_TRUE(layout->is_composite);
  constexpr std::int64_t first = std::int64_t{1} << 30;
  const LustreStripes one{
      .stripe_bytes = 1 << 20, .stripe_count = 1, .first_target = -1, .pool = ""};
  const LustreStripes then{
      .stripe_bytes = 1 << 22, .stripe_count = 8, .first_target = -1, .pool = ""};
  EXPECT_EQ(layout->components,
            (std::vector<LustreComponent>{
                {.stripes = one, .from_byte = 0, .to_byte = first, .instantiated = true},
                {.stripes = then, .from_byte = first, .to_byte = -1, .instantiated = false}}));
}

TEST(LustreLayout, RefusesEveryTruncation) {
  const std::vector<std::byte> whole = composite_of_two().bytes();
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(parse_lustre_layout(std::span(whole).first(size))) << size << " bytes";
  EXPECT_FALSE(parse_lustre_layout(std::vector<std::byte>(64)));
}

topology::FileTargets targets_by(const LayoutAttribute& attribute, std::int64_t file_bytes = 0,
                                 std::int64_t all_targets = 0) {
  constexpr std::uint32_t lustre = 0x0BD00BD0;
  return targets_of(
      lustre, 4 << 20,
      lustre_targets(*parse_lustre_layout(attribute.bytes()), file_bytes, all_targets));
}

TEST(LustreLayout, IsHowFilesLie) {
  using topology::FileTargets;
  EXPECT_EQ(targets_by(LayoutAttribute().add_plain(1 << 20, 4)),
            (FileTargets{4, 1 << 20, 1 << 20}));
  EXPECT_EQ(targets_by(composite_of_two()), (FileTargets{8, 4 << 20, 4 << 20}));
  // This component names neither its stripes nor their size.
  EXPECT_EQ(targets_by(LayoutAttribute().add_plain(0, 0)), (FileTargets{1, 4 << 20, 4 << 20}));
}

TEST(LustreLayout, OnAllTargetsIsOnAsManyAsThereAre) {
  using topology::FileTargets;
  constexpr std::uint16_t all = 0xFFFF;
  EXPECT_EQ(targets_by(LayoutAttribute().add_plain(1 << 20, all), 0, 64),
            (FileTargets{64, 1 << 20, 1 << 20}));
  EXPECT_EQ(targets_by(composite_of_two(all), 0, 64), (FileTargets{64, 4 << 20, 4 << 20}));
  EXPECT_EQ(targets_by(LayoutAttribute().add_plain(1 << 20, all)),
            (FileTargets{1, 1 << 20, 1 << 20}));
  // A component that has no objects yet may ask for more than there are.
  EXPECT_EQ(targets_by(composite_of_two(8), 0, 4), (FileTargets{4, 4 << 20, 4 << 20}));
}

TEST(LustreLayout, OfSeveralComponentsIsTheOneThatMostBytesLieIn) {
  constexpr std::int64_t first = std::int64_t{1} << 30;
  EXPECT_EQ(targets_by(composite_of_two(), 1, 64).count, 1);
  EXPECT_EQ(targets_by(composite_of_two(), first, 64).count, 1);
  EXPECT_EQ(targets_by(composite_of_two(), 2 * first - 1, 64).count, 1);
  EXPECT_EQ(targets_by(composite_of_two(), 2 * first, 64).count, 8);
  EXPECT_EQ(targets_by(composite_of_two(), 100 * first, 64).count, 8);
}

TEST(LustreLayout, TargetsAreCountedByTheClient) {
  const TestFolder folder;
  const std::string point = std::filesystem::canonical(folder.path("")).string();
  std::filesystem::create_directories(folder.path("statistics/lov/scratch-clilov-ffff8800"));
  std::filesystem::create_directories(folder.path("statistics/lov/home-clilov-ffff8801"));
  std::ofstream(folder.path("statistics/lov/scratch-clilov-ffff8800/activeobd")) << "64\n";
  std::ofstream(folder.path("statistics/lov/home-clilov-ffff8801/activeobd")) << "2\n";
  const std::string mounts = folder.path("mounts");
  const auto count = [&](const std::string& text) {
    std::ofstream(mounts) << text;
    return lustre_target_count(mounts, mounts, folder.path("statistics"));
  };
  const std::string home = "40 27 0:40 / / rw - lustre 10.0.0.1@tcp:/home rw\n";
  const std::string scratch = "41 40 0:41 / " + point.substr(0, point.find_last_not_of('/') + 1) +
                              " rw - lustre 10.0.0.1@o2ib:10.0.0.2@o2ib:/scratch/users rw,flock\n";
  EXPECT_EQ(count("50 27 0:50 / /tmp rw - tmpfs tmpfs rw\n" + home + scratch), 64);
  EXPECT_EQ(count(scratch + home), 64);
  EXPECT_EQ(count(home), 2);
  EXPECT_EQ(count("40 27 0:40 / / rw - lustre 10.0.0.1@tcp:/other rw\n"), 0);
  EXPECT_EQ(count("50 27 0:50 / / rw - tmpfs tmpfs rw\n"), 0);
  EXPECT_EQ(lustre_target_count(mounts, mounts, folder.path("nothing")), 0);
}

}  // namespace
}  // namespace weir::storage
