// Every reader takes what is in tests/malformed/READER, and what Weir writes itself: it refuses
// these bytes or reads something that can be, and asks for no memory that only the file's numbers
// call for.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "readers.hpp"
#include "system/test_folder.hpp"

namespace {

// The largest piece of memory asked for by new; malloc is that of the libraries.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): new is one for the program
std::atomic<std::size_t> largest{0};

#ifndef __SANITIZE_ADDRESS__  // the sanitizer has its own, and libFuzzer a limit
void* allocate(std::size_t bytes) {
  std::size_t before = largest.load();
  while (before < bytes && !largest.compare_exchange_weak(before, bytes)) {
  }
  if (void* const place = std::malloc(bytes == 0 ? 1 : bytes)) return place;
  throw std::bad_alloc();
}

#endif

}  // namespace

#ifndef __SANITIZE_ADDRESS__
void* operator new(std::size_t bytes) { return allocate(bytes); }
void* operator new[](std::size_t bytes) { return allocate(bytes); }
void operator delete(void* place) noexcept { std::free(place); }
void operator delete[](void* place) noexcept { std::free(place); }
void operator delete(void* place, std::size_t /*bytes*/) noexcept { std::free(place); }
void operator delete[](void* place, std::size_t /*bytes*/) noexcept { std::free(place); }
#endif

namespace weir::fuzz {
namespace {

// The buffer for reading a section, 4 MiB, is the largest that is not of the file's size.
constexpr std::size_t most_bytes_at_once = std::size_t{16} << 20;

class EveryReader : public ::testing::TestWithParam<const Reader*> {};

TEST_P(EveryReader, TakesWhateverBytesThereAre) {
  const Reader& reader = *GetParam();
  const storage::TestFolder folder;
  std::vector<std::pair<std::string, Bytes>> inputs;
  std::filesystem::create_directories(folder.path("seeds"));
  for (Bytes& seed : reader.seeds(folder.path("seeds"))) {
    // Cut short anywhere; and any number in it as large as it gets.
    for (std::size_t at = 0; at < seed.size(); at += 1 + seed.size() / 16) {
      inputs.emplace_back(fmt::format("a seed of {} bytes", at),
                          Bytes(seed.begin(), seed.begin() + static_cast<std::ptrdiff_t>(at)));
      Bytes changed = seed;
      for (std::size_t i = at; i < std::min(at + 4, seed.size()); ++i) {
        changed[i] = std::byte{0xff};
      }
      inputs.emplace_back(fmt::format("a seed with ones at {}", at), std::move(changed));
    }
    inputs.emplace_back("a seed", std::move(seed));
  }
  const std::filesystem::path corpus = std::filesystem::path(WEIR_MALFORMED) / reader.name;
  for (const auto& entry : std::filesystem::directory_iterator(corpus)) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    const auto* const first = reinterpret_cast<const std::byte*>(text.data());
    inputs.emplace_back(entry.path().filename().string(), Bytes(first, first + text.size()));
  }
  const std::string place = folder.path("read");
  std::filesystem::create_directories(place);
  for (const auto& [name, bytes] : inputs) {
    largest = 0;
    const auto complaint = reader.read(bytes, place);
    EXPECT_FALSE(complaint.has_value()) << name << ": " << *complaint;
    EXPECT_LE(largest.load(), most_bytes_at_once) << name;
  }
}

std::vector<const Reader*> readers_of_this_build() {
  std::vector<const Reader*> found;
  for (const Reader& one : all_readers()) {
    if (find_reader(one.name) != nullptr) found.push_back(&one);
  }
  return found;
}

TEST(Seeds, HaveRawDocumentsOfEachVersionAndWithArraysThatWereAddedBehindSteps) {
  const storage::TestFolder folder;
  std::vector<std::size_t> later;
  for (const Bytes& seed : find_reader("raw_file")->seeds(folder.path(""))) {
    const std::string text(reinterpret_cast<const char*>(seed.data()), seed.size());
    std::size_t records = 0;
    for (std::size_t at = 0; (at = text.find("first_step", at)) != std::string::npos; ++at) {
      ++records;
    }
    later.push_back(records);
  }
  EXPECT_EQ(later, (std::vector<std::size_t>{0, 0, 0, 0, 0, 1, 2}));
}

INSTANTIATE_TEST_SUITE_P(All, EveryReader, ::testing::ValuesIn(readers_of_this_build()),
                         [](const auto& test) { return std::string(test.param->name); });

}  // namespace
}  // namespace weir::fuzz
