#include "sections/texts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "array/layout.hpp"
#include "formats/test_description.hpp"
#include "sections/chunk_texts.hpp"
#include "sections/read_texts.hpp"
#include "system/test_folder.hpp"

namespace weir::storage {
namespace {

void put(std::string& bytes, std::uint64_t number, int size) {
  for (int i = 0; i < size; ++i) bytes += static_cast<char>(number >> (8 * i) & 0xFFU);
}

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

TEST(TextList, GivesTextsInTheOrderOfTheirNumbers) {
  TextList list(4);
  list.put(2, "two");
  std::memcpy(list.room_for(0, 4).data(), "a\0bc", 4);
  list.put(1, "");
  const Texts cut = list.in_order(TextList::Zeros::end_texts);
  EXPECT_EQ(cut.count(), 4);
  EXPECT_EQ(cut.at(0), "a");
  EXPECT_EQ(cut.at(2), "two");
  EXPECT_EQ(cut.at(3), "");
  EXPECT_EQ(list.in_order(TextList::Zeros::are_text).at(0), std::string_view("a\0bc", 4));
}

TEST(ChunkOfTexts, HoldsAsManyTextsAsItShould) {
  std::string chunk;
  put(chunk, 2, 4);
  put(chunk, 3, 4);
  chunk += "abc";
  put(chunk, 0, 4);
  const auto texts = parse_text_chunk(bytes_of(chunk), 2);
  ASSERT_TRUE(texts);
  EXPECT_EQ((*texts)[0], "abc");
  EXPECT_EQ((*texts)[1], "");
  EXPECT_FALSE(parse_text_chunk(bytes_of(chunk), 1));
  EXPECT_FALSE(parse_text_chunk(bytes_of(chunk), 3));
  EXPECT_FALSE(parse_text_chunk(bytes_of(chunk + "x"), 2));
  for (std::size_t bytes = 0; bytes < chunk.size(); ++bytes) {
    EXPECT_FALSE(parse_text_chunk(bytes_of(chunk).first(bytes), 2)) << bytes;
  }
  std::string lying = chunk;
  std::memset(lying.data() + 4, 0xFF, 4);
  EXPECT_FALSE(parse_text_chunk(bytes_of(lying), 2));
}

// A file of HDF5's elements, behind a user block, and the heap that they refer to.
class Heap : public testing::Test {
 protected:
  static constexpr std::int64_t base = 512;

  Heap() {
    bytes_.resize(base);
    put(bytes_, 0, 8);  // address 0 is none
  }
  [[nodiscard]] std::uint64_t here() const { return bytes_.size() - base; }
  // Begins a collection of so many bytes.
  std::uint64_t collection(std::uint64_t bytes) {
    const std::uint64_t at = here();
    bytes_ += std::string("GCOL\1\0\0\0", 8);
    put(bytes_, bytes, 8);
    return at;
  }
  // `bytes`: what is said of the text's length, where that is a lie.
  void object(std::uint16_t number, const std::string& text,
              std::optional<std::uint64_t> bytes = std::nullopt) {
    put(bytes_, number, 2);
    put(bytes_, 0, 6);
    put(bytes_, bytes.value_or(text.size()), 8);
    bytes_ += text;
    bytes_.resize((bytes_.size() + 7) / 8 * 8);
  }
  // Free room up to there.
  void free_until(std::uint64_t end) {
    object(0, "", end - here());
    bytes_.resize(base + end);
  }
  void refer(std::uint32_t bytes, std::uint64_t at, std::uint32_t number) {
    put(references_, bytes, 4);
    put(references_, at, 8);
    put(references_, number, 4);
  }
  Result<Texts> read() {
    const auto offset = static_cast<std::int64_t>(bytes_.size());
    const std::int64_t count = std::ssize(references_) / heap_reference_bytes;
    const std::string path = folder_.path("heap");
    write_file(path, bytes_ + references_);
    const auto type = array::ElementType::record(heap_reference_bytes).value();
    const StoredTexts texts{{{.name = "a", .shape = shape_of({count}), .type = type},
                             {.shape = shape_of({count}),
                              .type = type,
                              .files = DataFiles::one(path),
                              .extents = DenseExtents{offset}}},
                            "fill",
                            base};
    DataFileCache files(DataFileCache::Use::reading);
    return read_texts(texts, array::Section::of(shape_of({count}).box()), files);
  }
  void expect_damaged(const std::string& why) {
    const auto read_again = read();
    ASSERT_FALSE(read_again) << "expected: " << why;
    EXPECT_EQ(read_again.error().code, ErrorCode::corrupt);
    EXPECT_NE(read_again.error().message.find(why), std::string::npos)
        << read_again.error().message;
  }

 private:
  static void write_file(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
  }

  TestFolder folder_;
  std::string bytes_;
  std::string references_;
};

TEST_F(Heap, IsFollowedInAnyOrder) {
  const std::uint64_t first = collection(128);
  object(7, "seven");
  object(2, std::string("tw\0o", 4));
  free_until(first + 128);
  const std::uint64_t second = collection(80000);
  object(1, std::string(70000, 'x'));
  free_until(second + 80000);
  refer(70000, second, 1);
  refer(0, 0, 0);
  refer(5, first, 7);
  refer(4, first, 2);
  refer(5, first, 7);
  refer(UINT32_MAX, UINT64_MAX, UINT32_MAX);
  const auto texts = read();
  ASSERT_TRUE(texts) << texts.error().text();
  EXPECT_EQ(texts.value().at(0), std::string(70000, 'x'));
  EXPECT_EQ(texts.value().at(1), "");
  EXPECT_EQ(texts.value().at(2), "seven");
  EXPECT_EQ(texts.value().at(3), "tw");
  EXPECT_EQ(texts.value().at(4), "seven");
  EXPECT_EQ(texts.value().at(5), "fill");
}

TEST_F(Heap, IsRefusedWhereItsCollectionsOverlap) {
  const std::uint64_t first = collection(96);
  object(1, "one");
  const std::uint64_t second = collection(48);
  object(1, "two");
  refer(3, first, 1);
  refer(3, second, 1);
  expect_damaged("overlap");
}

TEST_F(Heap, IsRefusedOutsideTheFile) {
  refer(3, std::uint64_t{1} << 40, 1);
  expect_damaged("outside the file");
}

TEST_F(Heap, IsRefusedAtTheEndOfAllOffsets) {
  refer(3, UINT64_MAX - 8, 1);
  expect_damaged("outside the file");
}

TEST_F(Heap, IsRefusedWhereACollectionIsLongerThanTheFile) {
  refer(1, collection(std::uint64_t{1} << 40), 1);
  object(1, "x");
  expect_damaged("no collection of texts");
}

TEST_F(Heap, IsRefusedWhereNoneIs) {
  const std::uint64_t at = here();
  object(1, "no collection");
  refer(1, at, 1);
  expect_damaged("no collection of texts");
}

TEST_F(Heap, IsRefusedWithoutTheObject) {
  const std::uint64_t at = collection(40);
  object(1, "one");
  refer(3, at, 2);
  expect_damaged("is not in its collection");
}

TEST_F(Heap, IsRefusedWhereAnObjectIsTooShort) {
  const std::uint64_t at = collection(40);
  object(1, "one");
  refer(4, at, 1);
  expect_damaged("shorter than its length");
}

TEST_F(Heap, IsRefusedWhereAnObjectIsTooLong) {
  const std::uint64_t at = collection(40);
  object(1, "one", UINT64_MAX - 1);
  refer(3, at, 1);
  expect_damaged("ends outside its collection");
}

TEST_F(Heap, IsRefusedWhereItsTextsAreLongerThanTheFile) {
  const std::uint64_t at = collection(1040);
  object(1, std::string(1000, 'x'));
  for (int i = 0; i < 5; ++i) refer(1000, at, 1);
  expect_damaged("more bytes than the file has");
}

}  // namespace
}  // namespace weir::storage
