// Every reader takes what is in tests/malformed/READER, and what Weir writes itself: it refuses
// these bytes or reads something that can be, and asks for no memory that only the file's numbers
// call for.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/numbers_in_bytes.hpp"
#include "formats/cdf/cdf_layout.hpp"
#include "formats/cdf/header.hpp"
#include "readers.hpp"
#include "system/test_folder.hpp"
#include "transport/messages.hpp"

namespace {

// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): new is one for the program
// The largest piece of memory asked for by new; malloc is that of the libraries.
std::atomic<std::size_t> largest{0};
// Bytes of all pieces that are in use now, and the most that were at any time.
std::atomic<std::size_t> in_use{0};
std::atomic<std::size_t> most_in_use{0};
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

#ifndef __SANITIZE_ADDRESS__  // the sanitizer has its own, and libFuzzer a limit
void raise(std::atomic<std::size_t>& most, std::size_t bytes) {
  std::size_t before = most.load();
  while (before < bytes && !most.compare_exchange_weak(before, bytes)) {
  }
}

void* allocate(std::size_t bytes) {
  raise(largest, bytes);
  void* const place = std::malloc(bytes == 0 ? 1 : bytes);
  if (place == nullptr) throw std::bad_alloc();
  const std::size_t taken = ::malloc_usable_size(place);
  raise(most_in_use, in_use += taken);
  return place;
}

void release(void* place) {
  in_use -= ::malloc_usable_size(place);
  std::free(place);
}

#endif

}  // namespace

#ifndef __SANITIZE_ADDRESS__
void* operator new(std::size_t bytes) { return allocate(bytes); }
void* operator new[](std::size_t bytes) { return allocate(bytes); }
void operator delete(void* place) noexcept { release(place); }
void operator delete[](void* place) noexcept { release(place); }
void operator delete(void* place, std::size_t /*bytes*/) noexcept { release(place); }
void operator delete[](void* place, std::size_t /*bytes*/) noexcept { release(place); }
#endif

// Returns the path of tests/malformed.
extern "C" const char* weir_malformed();

namespace weir::fuzz {
namespace {

// The buffer for reading a section, 4 MiB, is the largest that is not of the file's size.
constexpr std::size_t most_bytes_at_once = std::size_t{16} << 20;

// Returns what tests/malformed has for a reader: names and bytes.
std::vector<std::pair<std::string, Bytes>> corpus_of(std::string_view reader) {
  std::vector<std::pair<std::string, Bytes>> kept;
  const std::filesystem::path corpus = std::filesystem::path(weir_malformed()) / reader;
  for (const auto& entry : std::filesystem::directory_iterator(corpus)) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    const auto* const first = reinterpret_cast<const std::byte*>(text.data());
    kept.emplace_back(entry.path().filename().string(), Bytes(first, first + text.size()));
  }
  return kept;
}

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
  for (auto& kept : corpus_of(reader.name)) inputs.push_back(std::move(kept));
  const std::string place = folder.path("read");
  std::filesystem::create_directories(place);
  for (const auto& [name, bytes] : inputs) {
    largest = 0;
    const auto complaint = reader.read(bytes, place);
    EXPECT_FALSE(complaint.has_value()) << name << ": " << *complaint;
    EXPECT_LE(largest.load(), most_bytes_at_once) << name;
  }
}

// A reader that stops at the version of a message never comes to what is wrong behind it. So the
// first message of each journal and conversation, behind its length, has to be one of today.
TEST(Malformed, BeginsWithAMessageOfThisVersion) {
  for (const char* const reader : {"journal", "conversation"}) {
    for (const auto& [name, bytes] : corpus_of(reader)) {
      SCOPED_TRACE(fmt::format("{}/{}", reader, name));
      std::span<const std::byte> rest = bytes;
      // In a conversation the number of a connection is before its message, and what happens else
      // has higher numbers.
      if (reader == std::string_view("conversation")) {
        while (rest.size() > 1 && rest.front() > std::byte{3}) rest = rest.subspan(1);
        rest = rest.subspan(1);
      }
      ASSERT_GT(rest.size(), 2U);
      const std::size_t length = storage::number_at<std::uint16_t>(rest);
      ASSERT_LE(length, rest.size() - 2);
      const auto message = transport::parse(rest.subspan(2, length));
      EXPECT_TRUE(message.ok()) << message.error().text();
    }
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

#ifndef __SANITIZE_ADDRESS__

// ---- NetCDF headers -----------------------------------------------------------------------------

void put(Bytes& bytes, const std::vector<std::int32_t>& numbers) {
  for (const std::int32_t number : numbers) storage::append_big_endian(bytes, number);
}

// The first four bytes of a name that has this number, as one number of the header.
std::int32_t name_number(int number) {
  std::int32_t name = 0;
  for (int i = 0; i < 4; ++i, number /= 26) name = name << 8 | ('a' + number % 26);
  return name;
}

// A header of CDF-1 without records, up to its list of dimensions.
Bytes beginning() {
  Bytes bytes;
  put(bytes, {'C' << 24 | 'D' << 16 | 'F' << 8 | 1, 0});
  return bytes;
}

Bytes with_dimensions(int count) {
  Bytes bytes = beginning();
  put(bytes, {0x0A, count});
  for (int i = 0; i < count; ++i) put(bytes, {4, name_number(i), 2});
  put(bytes, {0, 0, 0, 0});
  return bytes;
}

Bytes with_empty_attributes(int count) {
  Bytes bytes = beginning();
  put(bytes, {0, 0, 0x0C, count});
  for (int i = 0; i < count; ++i) put(bytes, {0, 1, 0});
  put(bytes, {0, 0});
  return bytes;
}

Bytes with_attributes_of_numbers(int count) {
  Bytes bytes = beginning();
  put(bytes, {0, 0, 0x0C, count});
  for (int i = 0; i < count; ++i) put(bytes, {4, name_number(i), 6, 2, 0, 0, 0, 0});
  put(bytes, {0, 0});
  return bytes;
}

Bytes with_a_text(int length) {
  Bytes bytes = beginning();
  put(bytes, {0, 0, 0x0C, 1, 4, name_number(0), 2, length * 4});
  bytes.insert(bytes.end(), static_cast<std::size_t>(length) * 4, std::byte{'t'});
  put(bytes, {0, 0});
  return bytes;
}

void put_variable(Bytes& bytes, int number, int dimensions) {
  put(bytes, {4, name_number(number), dimensions});
  put(bytes, std::vector<std::int32_t>(static_cast<std::size_t>(dimensions), 0));
  put(bytes, {0, 0, 4, 4, INT32_MAX});
}

Bytes with_variables(int count) {
  Bytes bytes = beginning();
  put(bytes, {0, 0, 0, 0, 0x0B, count});
  for (int i = 0; i < count; ++i) put_variable(bytes, i, 0);
  return bytes;
}

Bytes with_uses_of_a_dimension(int count) {
  Bytes bytes = beginning();
  put(bytes, {0x0A, 1, 4, name_number(0), 1, 0, 0, 0x0B, 1});
  put_variable(bytes, 0, count);
  return bytes;
}

Bytes with_uses_of_a_long_name(int count) {
  constexpr int length = 4092;
  Bytes bytes = beginning();
  put(bytes, {0x0A, 1, length});
  bytes.insert(bytes.end(), length, std::byte{'d'});
  put(bytes, {2, 0, 0, 0x0B, count});
  for (int i = 0; i < count; ++i) put_variable(bytes, i, 16);
  return bytes;
}

// Reads the header and makes the map of its file, in `taken` bytes of memory. Returns whether it is
// refused because it would take more.
bool is_too_much(const Bytes& bytes, std::int64_t most_memory, std::size_t& taken) {
  const std::size_t before = in_use.load();
  most_in_use = before;
  const auto parsed = storage::parse_cdf_header(bytes, "a.nc", most_memory);
  if (parsed.header) {
    const storage::FileMap map = storage::cdf_map_of(parsed.header.value(), "a.nc", INT64_MAX);
    EXPECT_LE(map.arrays.size(), parsed.header.value().variables.size());
  }
  taken = most_in_use.load() - before;
  if (parsed.header) return false;
  const std::string error = parsed.header.error().text();
  EXPECT_NE(error.find("WEIR_READ_BYTES"), std::string::npos) << error;
  return true;
}

TEST(NetcdfHeaders, TakeNoMoreMemoryThanIsAllowed) {
  constexpr std::int64_t most_memory = std::int64_t{32} << 20;
  constexpr int most_entries = 1 << 24;
  int kind = 0;
  for (const auto& make :
       {with_dimensions, with_empty_attributes, with_attributes_of_numbers, with_a_text,
        with_variables, with_uses_of_a_dimension, with_uses_of_a_long_name}) {
    SCOPED_TRACE(kind++);
    bool refused = false;
    for (int entries = 64; !refused && entries < most_entries; entries += entries / 4) {
      std::size_t taken = 0;
      refused = is_too_much(make(entries), most_memory, taken);
      EXPECT_LE(taken, static_cast<std::size_t>(most_memory)) << entries;
    }
    EXPECT_TRUE(refused);
  }
}

#endif

INSTANTIATE_TEST_SUITE_P(All, EveryReader, ::testing::ValuesIn(readers_of_this_build()),
                         [](const auto& test) { return std::string(test.param->name); });

}  // namespace
}  // namespace weir::fuzz
