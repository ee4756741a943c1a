#include "system/text_file.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "system/test_folder.hpp"

namespace weir::storage {
namespace {

std::string all_of(const std::string& path, std::size_t most_bytes) {
  auto text = read_text_file(path, most_bytes);
  return text ? std::move(text).value() : "error: " + text.error().message;
}

TEST(ReadTextFile, ReturnsAllUpToTheLimitAndOneByteMore) {
  const TestFolder folder;
  const std::string path = folder.path("text");
  std::ofstream(path) << "0123456789";
  EXPECT_EQ(all_of(path, 11), "0123456789");
  EXPECT_EQ(all_of(path, 10), "0123456789");
  EXPECT_EQ(all_of(path, 9), "0123456789") << "one byte more than 9";
  EXPECT_EQ(all_of(path, 4), "01234");
  std::ofstream(folder.path("empty")).close();
  EXPECT_EQ(all_of(folder.path("empty"), 4), "");
  EXPECT_FALSE(read_text_file(folder.path("missing"), 4));
}

// The system says that such files have no bytes, until they are read.
TEST(ReadTextFile, ReturnsAllOfAFileWithoutALength) {
  std::ifstream version("/proc/version");
  const std::string text{std::istreambuf_iterator<char>(version), {}};
  ASSERT_GT(text.size(), 8U);
  EXPECT_EQ(all_of("/proc/version", 1 << 20), text);
  EXPECT_EQ(all_of("/proc/version", text.size()), text);
  EXPECT_EQ(all_of("/proc/version", 4), text.substr(0, 5));
  // Longer than what is expected first.
  std::ifstream symbols("/proc/kallsyms");
  std::string first(200'000, ' ');
  if (symbols.read(first.data(), 200'000)) {
    EXPECT_EQ(all_of("/proc/kallsyms", 200'000).size(), 200'001U);
    EXPECT_EQ(all_of("/proc/kallsyms", 200'000).substr(0, 200'000), first);
  }
}

}  // namespace
}  // namespace weir::storage
