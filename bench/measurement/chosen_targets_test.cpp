#include "measurement/chosen_targets.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): setenv is POSIX

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "system/lustre_layout.hpp"
#include "system/test_folder.hpp"
#include "system/test_text.hpp"

namespace weir::bench {
namespace {

using Indices = std::vector<std::int32_t>;

std::string refusal_of_list(const std::string& text) {
  const auto parsed = parse_targets(text);
  return parsed ? "accepted" : parsed.error().message;
}

TEST(ChosenTargets, AreReadAsTheCommandReadsThem) {
  EXPECT_EQ(parse_targets("3").value(), (Indices{3}));
  EXPECT_EQ(parse_targets("7,0,2-4").value(), (Indices{7, 0, 2, 3, 4}));
  EXPECT_EQ(parse_targets("65534").value(), (Indices{65534}));
  EXPECT_EQ((ChosenTargets{.indices = {7, 0, 2}}.list()), "7,0,2");
  for (const char* const text : {"", ",", "1,", ",1", "1,,2", "-1", "1-", "4-2", "a", "1 ,2", "0x1",
                                 "65535", "99999999999", "1-65535"}) {
    EXPECT_NE(refusal_of_list(text).find("is no list of indices"), std::string::npos) << text;
  }
  EXPECT_EQ(refusal_of_list("1,0-2"), "has target 1 twice");
  EXPECT_EQ(parse_targets("0-1999").value().size(), 2000U);
  EXPECT_NE(refusal_of_list("0-2000").find("more than 2000 targets"), std::string::npos);
}

// Builds the attribute "lustre.lov" field by field, in the order and with the sizes of
// lov_user_md_v1, lov_user_md_v3, lov_user_ost_data_v1 and lov_comp_md_v1 in lustre_user.h.
class Attribute {
 public:
  template <typename T>
  Attribute& add(T value) {
    const std::size_t at = bytes_.size();
    bytes_.resize(at + sizeof value);
    std::memcpy(bytes_.data() + at, &value, sizeof value);
    return *this;
  }
  Attribute& add_header(std::uint16_t stripes, bool pool = false) {
    add<std::uint32_t>(pool ? 0x0BD30BD0 : 0x0BD10BD0).add<std::uint32_t>(1);
    add<std::uint64_t>(0).add<std::uint64_t>(0).add<std::uint32_t>(1 << 20);
    add(stripes).add<std::uint16_t>(0);
    if (pool) add<std::uint64_t>(0x68736c66).add<std::uint64_t>(0);
    return *this;
  }
  Attribute& add_plain(const std::vector<std::uint32_t>& targets, bool pool = false) {
    add_header(static_cast<std::uint16_t>(targets.size()), pool);
    for (const std::uint32_t target : targets) {
      add<std::uint64_t>(1234).add<std::uint64_t>(0x100000000).add<std::uint32_t>(9).add(target);
    }
    return *this;
  }
  [[nodiscard]] const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

// Two components of which each has one object; the second one exists only if `instantiated`.
Attribute composite(bool instantiated) {
  constexpr std::uint32_t plain = 32 + 24;
  Attribute attribute;
  attribute.add<std::uint32_t>(0x0BD60BD0).add<std::uint32_t>(0).add<std::uint32_t>(0);
  attribute.add<std::uint16_t>(0).add<std::uint16_t>(2).add<std::uint64_t>(0).add<std::uint64_t>(0);
  for (const std::uint32_t i : {0U, 1U}) {
    attribute.add<std::uint32_t>(i + 1).add<std::uint32_t>(i == 0 || instantiated ? 0x10 : 0);
    attribute.add<std::uint64_t>(i << 30).add<std::uint64_t>((i + 1) << 30);
    attribute.add<std::uint32_t>(32 + 2 * 48 + i * plain).add<std::uint32_t>(plain);
    attribute.add<std::uint32_t>(0).add<std::uint64_t>(0).add<std::uint32_t>(0);
  }
  return attribute.add_plain({5}).add_plain({6});
}

std::string complaint(const Attribute& attribute, const Indices& chosen) {
  const Status same = compare_targets(attribute.bytes(), {.indices = chosen}, "/lustre/file");
  return same.ok() ? "" : same.error().text();
}

TEST(ChosenTargets, AreComparedWithTheObjectsOfAFile) {
  EXPECT_EQ(complaint(Attribute().add_plain({3}), {3}), "");
  EXPECT_EQ(complaint(Attribute().add_plain({0, 2, 1}), {0, 2, 1}), "");
  EXPECT_EQ(complaint(Attribute().add_plain({0, 2, 1}, true), {0, 2, 1}), "");
  EXPECT_EQ(complaint(Attribute().add_plain({65534}), {65534}), "");
  EXPECT_EQ(complaint(composite(true), {5, 6}), "");
  const std::string other = complaint(Attribute().add_plain({4}), {3});
  EXPECT_NE(other.find("the file is on 4, and should be on targets 3"), std::string::npos) << other;
  EXPECT_NE(other.find("/lustre/file"), std::string::npos) << other;
  EXPECT_EQ(other.find('\n'), std::string::npos);
  EXPECT_NE(complaint(Attribute().add_plain({2, 0, 1}), {0, 2, 1}), "") << "another order";
  EXPECT_NE(complaint(Attribute().add_plain({0, 2}), {0, 2, 1}), "") << "one too few";
  EXPECT_NE(complaint(Attribute().add_plain({0, 2, 1, 3}), {0, 2, 1}), "") << "one too many";
  // "is on 11,11,..." has 3 n + 5 characters for n targets, and is cut to 200.
  const auto is_on = [](std::size_t targets) {
    return complaint(Attribute().add_plain(std::vector<std::uint32_t>(targets, 11)), {3}).size();
  };
  EXPECT_EQ(is_on(65), is_on(64) + 3) << "200 characters";
  EXPECT_EQ(is_on(66), is_on(65)) << "one too many";
  EXPECT_NE(complaint(composite(false), {5, 6}).find("does not name its targets"),
            std::string::npos);
}

TEST(ChosenTargets, AFileWithoutObjectsIsOnNone) {
  EXPECT_NE(complaint(Attribute().add_header(1), {3}).find("has no targets"), std::string::npos);
  EXPECT_NE(complaint(Attribute().add_header(0xFFFF), {3}).find("has no targets"),
            std::string::npos);
  EXPECT_NE(complaint(Attribute(), {3}).find("does not name its targets"), std::string::npos);
  // The file system of tests does not have the attribute.
  const storage::TestFolder folder;
  const std::string path = folder.path("file");
  std::ofstream(path) << "x";
  EXPECT_FALSE(check_file_is_on_targets(path, {.indices = {3}}).ok());
  EXPECT_TRUE(check_file_is_on_targets(path, {}).ok());
}

// A plain attribute that ends after its header is that of a folder.
TEST(ChosenTargets, TruncatedObjectsAreRefused) {
  for (const std::vector<std::byte>& whole :
       {Attribute().add_plain({0, 2, 1}).bytes(), Attribute().add_plain({0, 2}, true).bytes(),
        composite(true).bytes()}) {
    for (std::size_t size = 0; size < whole.size(); ++size) {
      const auto found = storage::parse_lustre_objects(std::span(whole).first(size));
      EXPECT_TRUE(!found || found->empty()) << size << " bytes";
    }
    EXPECT_TRUE(storage::parse_lustre_objects(whole));
  }
}

// The command `lfs` writes down its arguments, and a table of mounts names Lustre. What Lustre does
// with them cannot be seen here.
TEST(ChosenTargets, AreAskedForByTheCommand) {
  const storage::TestFolder folder;
  const std::string root = std::filesystem::canonical(folder.path(".")).string();
  const std::string mounts = folder.path("mounts");
  std::filesystem::create_directories(folder.path("bin"));
  const std::string program = folder.path("bin/lfs");
  std::ofstream(program) << "#!/bin/bash\necho \"$@\" >> " << folder.path("asked") << "\n";
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  // NOLINTBEGIN(concurrency-mt-unsafe): one thread
  const std::string before = getenv("PATH");
  setenv("PATH", (folder.path("bin") + ":" + before).c_str(), 1);
  std::ofstream(mounts) << "40 27 0:40 / " << root << " rw - lustre 10.0.0.1@tcp:/scratch rw\n";
  EXPECT_TRUE(put_folder_on_targets(root, {.indices = {7, 0, 2}}, mounts).ok());
  EXPECT_TRUE(put_folder_on_targets(root, {.indices = {3}, .stripe_bytes = 65536}, mounts).ok());
  EXPECT_TRUE(put_folder_on_targets(root, {}, mounts).ok());
  EXPECT_EQ(storage::text_of(folder.path("asked")),
            "setstripe -o 7,0,2 " + root + "\nsetstripe -o 3 -S 65536 " + root + "\n");
  std::ofstream(mounts) << "51 27 0:51 / " << root << " rw - nfs4 server:/home rw\n";
  const Status refused = put_folder_on_targets(root, {.indices = {3}}, mounts);
  setenv("PATH", before.c_str(), 1);
  // NOLINTEND(concurrency-mt-unsafe)
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::unsupported);
  EXPECT_NE(refused.error().text().find("on nfs4 programs cannot choose the targets"),
            std::string::npos);
}

}  // namespace
}  // namespace weir::bench
