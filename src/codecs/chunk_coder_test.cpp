// Codecs: known answers, round trips, and damaged input, which is refused or decodes to something.
#include "codecs/chunk_coder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

namespace weir::storage {
namespace {

using array::ElementKind;

std::vector<std::byte> bytes_of_doubles(const std::vector<double>& numbers) {
  std::vector<std::byte> bytes(numbers.size() * sizeof(double));
  std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return bytes;
}

std::vector<double> doubles_of(const std::vector<std::byte>& bytes) {
  std::vector<double> numbers(bytes.size() / sizeof(double));
  std::memcpy(numbers.data(), bytes.data(), bytes.size());
  return numbers;
}

std::vector<double> smooth_numbers(std::size_t count) {
  std::vector<double> numbers(count);
  for (std::size_t i = 0; i < count; ++i) numbers[i] = std::sin(static_cast<double>(i) * 0.01);
  return numbers;
}

std::vector<std::byte> copy_of(std::span<const std::byte> bytes) {
  return {bytes.begin(), bytes.end()};
}

// NOLINTNEXTLINE(bugprone-throwing-static-initialization): it holds no memory
const ChunkForm form{ElementKind::float64, {6, 10, 20}};

bool built_with(std::string_view codecs) {
  const auto pipeline = parse_pipeline(codecs).value();
  return std::all_of(pipeline.begin(), pipeline.end(),
                     [](const Codec& codec) { return has_library(codec); });
}

TEST(Codecs, AreReadAsTheyAreWritten) {
  for (const char* const text : {"",
                                 "shuffle",
                                 "deflate:6",
                                 "gzip:1",
                                 "zstd:-3",
                                 "blosc:lz4:5:byte",
                                 "blosc:zstd:1:bit",
                                 "blosc2:zstd:5:none",
                                 "zfp:0.001",
                                 "shuffle,zstd:1,crc32c",
                                 "fletcher32",
                                 "lzf",
                                 "lz4",
                                 "bitshuffle:lz4",
                                 "bitshuffle:none",
                                 "bitshuffle:zstd",
                                 "szip:nn:32",
                                 "szip:ec:8",
                                 "delta",
                                 "delta:float32,zstd:1"}) {
    const auto read = parse_pipeline(text);
    ASSERT_TRUE(read.ok()) << text;
    EXPECT_EQ(pipeline_text(read.value()), text);
    EXPECT_EQ(parse_pipeline(pipeline_text(read.value())).value(), read.value());
  }
  EXPECT_EQ(pipeline_text(parse_pipeline("zstd,blosc").value()), "zstd:1,blosc:lz4:5:byte");
  for (const char* const text :
       {"lzma", "zstd:one", "zstd:1:2", "zfp", "shuffle:4", "zstd,", ",", "blosc:best", "crc32c:1",
        "zfp:0.1x", "bitshuffle:gzip", "szip:both", "delta:text[3]", "delta:no"}) {
    const auto read = parse_pipeline(text);
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_NE(read.error().text().find("zstd"), std::string::npos);
  }
}

TEST(Codecs, AreRefusedWhereTheyCannotBeUsed) {
  const auto refused = [](const char* text, const ChunkForm& of) {
    return !check_pipeline(parse_pipeline(text).value(), of).ok();
  };
  EXPECT_TRUE(refused("deflate:10", form));
  EXPECT_TRUE(refused("zstd:23", form));
  EXPECT_TRUE(refused("shuffle,zfp:0.1", form));
  EXPECT_TRUE(refused("zfp:-1", form));
  EXPECT_TRUE(refused("zfp:inf", form));
  EXPECT_TRUE(refused("zfp:0.1", {ElementKind::int16, {4}}));
  EXPECT_TRUE(refused("zfp:0.1", {ElementKind::float64, {2, 2, 2, 2, 2}}));
  EXPECT_TRUE(refused("szip:nn:3", form));
  EXPECT_TRUE(refused("szip:nn:34", form));
  EXPECT_TRUE(refused("delta:int32", form));
  EXPECT_TRUE(refused("delta", {ElementKind::complex64, {4}}));
  EXPECT_TRUE(refused("shuffle,delta", form));
  EXPECT_TRUE(refused("shuffle", {ElementKind::float64, {std::int64_t{1} << 29}}));
  EXPECT_TRUE(refused("shuffle", {ElementKind::float64, {std::int64_t{1} << 62, 4}}));
  EXPECT_FALSE(refused("shuffle", {ElementKind::float64, {1 << 20}}));
}

TEST(Bitshuffle, HasBlocksOfAtMost2To20Elements) {
  const auto created = [](std::int64_t elements) {
    BitshuffleCodec codec;
    codec.compressor = BitshuffleCompressor::none;
    codec.block_elements = elements;
    return ChunkCoder::create({codec}, {ElementKind::float64, {1 << 10}});
  };
  EXPECT_TRUE(created(1 << 20).ok());
  EXPECT_FALSE(created((1 << 20) + 8).ok());
  EXPECT_FALSE(created(12).ok());
}

class EveryCodec : public testing::TestWithParam<const char*> {
 protected:
  // The libraries zfp and libaec take zeros for what a stream lacks, and do not say so.
  static bool takes_what_is_cut() {
    const std::string codecs = GetParam();
    return codecs == "zfp:0" || codecs.find("szip") != std::string::npos;
  }
  void SetUp() override {
    if (!built_with(GetParam())) GTEST_SKIP() << "this build has no library for it";
  }
  [[nodiscard]] static ChunkCoder coder() {
    return ChunkCoder::create(parse_pipeline(GetParam()).value(), form).value();
  }
};

TEST_P(EveryCodec, GivesBackWhatItWasGiven) {
  ChunkCoder one = coder();
  auto noise = smooth_numbers(1200);
  std::uint64_t state = 7;
  for (double& number : noise) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    std::memcpy(&number, &state, sizeof(number));
  }
  for (const auto& numbers : {smooth_numbers(1200), std::vector<double>(1200), noise}) {
    const auto chunk = bytes_of_doubles(numbers);
    const auto encoded = one.encode(chunk);
    ASSERT_TRUE(encoded.ok()) << encoded.error().text();
    EXPECT_LE(static_cast<std::int64_t>(encoded.value().bytes.size()), one.most_encoded_bytes());
    const auto stored = copy_of(encoded.value().bytes);
    std::vector<std::byte> decoded(chunk.size());
    ChunkCoder other = coder();
    const Status status = other.decode({stored, encoded.value().skipped}, decoded);
    ASSERT_TRUE(status.ok()) << status.error().text();
    EXPECT_EQ(decoded, chunk);
  }
}

TEST_P(EveryCodec, RefusesWhatIsDamagedOrTooShort) {
  ChunkCoder one = coder();
  const auto chunk = bytes_of_doubles(smooth_numbers(1200));
  const auto stored = copy_of(one.encode(chunk).value().bytes);
  std::vector<std::byte> decoded(chunk.size());
  for (std::size_t length = 0; length < stored.size(); length += 1 + stored.size() / 97) {
    // In a buffer of its own, so that a sanitizer sees who reads beyond it.
    const std::vector<std::byte> cut(stored.begin(),
                                     stored.begin() + static_cast<std::ptrdiff_t>(length));
    const bool fine = one.decode({cut, 0}, decoded).ok();
    EXPECT_TRUE(!fine || decoded == chunk || takes_what_is_cut()) << length;
  }
  std::uint64_t state = 3;
  for (int turn = 0; turn < 300; ++turn) {
    auto damaged = stored;
    for (int i = 0; i < 3; ++i) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      damaged[(state >> 20) % damaged.size()] ^= static_cast<std::byte>(state >> 56);
    }
    static_cast<void>(one.decode({damaged, 0}, decoded));
  }
  EXPECT_FALSE(one.decode({stored, 0}, std::span(decoded).first(8)).ok());
  EXPECT_FALSE(one.encode(std::span(chunk).first(8)).ok());
}

INSTANTIATE_TEST_SUITE_P(
    Codecs, EveryCodec,
    testing::Values("", "shuffle", "deflate", "gzip:1", "zstd", "zstd:-5", "blosc",
                    "blosc:zstd:1:bit", "blosc:zlib:9:none", "blosc2", "blosc2:lz4:1:bit", "zfp:0",
                    "crc32c", "fletcher32", "shuffle,zstd,crc32c", "shuffle,deflate,fletcher32",
                    "zstd,gzip,shuffle", "lzf", "shuffle,lzf", "lz4", "shuffle,lz4", "bitshuffle",
                    "bitshuffle:none", "bitshuffle:zstd", "szip", "szip:ec:8", "shuffle,szip"),
    [](const auto& one) {
      std::string name = *one.param == '\0' ? "none" : one.param;
      std::replace_if(
          name.begin(), name.end(), [](char c) { return std::isalnum(c) == 0; }, '_');
      return name;
    });

// HDF5's own library computed these.
TEST(Fletcher32, HasTheAnswersOfHdf5) {
  const auto sum = [](std::vector<unsigned char> bytes) {
    const ChunkForm of{ElementKind::uint8, {static_cast<std::int64_t>(bytes.size())}};
    ChunkCoder coder = ChunkCoder::create({Fletcher32Codec()}, of).value();
    const auto encoded = coder.encode(std::as_bytes(std::span(bytes))).value().bytes;
    std::uint32_t stored = 0;
    std::memcpy(&stored, encoded.data() + bytes.size(), sizeof(stored));
    return stored;
  };
  EXPECT_EQ(sum({1, 2, 3, 4}), 0x05080406U);
  EXPECT_EQ(sum({1, 2, 3, 4, 5}), 0x0e0e0906U);
  EXPECT_EQ(sum({0, 0}), 0U);
  EXPECT_EQ(sum(std::vector<unsigned char>(4, 0xff)), 0xffffffffU);
}

// By the format's description, and as h5py's filter gives them.
TEST(Lzf, ReadsEveryKindOfReference) {
  const auto decoded = [](std::vector<unsigned char> stored, std::size_t bytes) {
    const ChunkForm of{ElementKind::uint8, {static_cast<std::int64_t>(bytes)}};
    ChunkCoder coder = ChunkCoder::create({LzfCodec()}, of).value();
    std::vector<unsigned char> chunk(bytes);
    const Status status = coder.decode({std::as_bytes(std::span(stored)), 0},
                                       std::as_writable_bytes(std::span(chunk)));
    return status.ok() ? std::string(chunk.begin(), chunk.end()) : status.error().text();
  };
  // Three literals, six bytes from three before.
  EXPECT_EQ(decoded({2, 'a', 'b', 'c', 4 << 5, 2}, 9), "abcabcabc");
  // One literal, then nine and more bytes from one before.
  EXPECT_EQ(decoded({0, 'x', 7 << 5, 0, 0}, 10), "xxxxxxxxxx");
  EXPECT_EQ(decoded({0, 'x', 7 << 5, 3, 0}, 13), std::string(13, 'x'));
  for (const auto& [stored, bytes, why] :
       {std::tuple(std::vector<unsigned char>{2, 'a', 'b'}, 3, "truncated"),
        std::tuple(std::vector<unsigned char>{0, 'a', 1 << 5}, 4, "truncated"),
        std::tuple(std::vector<unsigned char>{0, 'a', 7 << 5, 0}, 10, "truncated"),
        std::tuple(std::vector<unsigned char>{0, 'a', 1 << 5, 1}, 4, "before its first"),
        std::tuple(std::vector<unsigned char>{1, 'a', 'b'}, 1, "too long"),
        std::tuple(std::vector<unsigned char>{0, 'a', 1 << 5, 0}, 3, "too long"),
        std::tuple(std::vector<unsigned char>{0, 'a'}, 2, "1 bytes instead of 2")}) {
    EXPECT_NE(decoded(stored, static_cast<std::size_t>(bytes)).find(why), std::string::npos) << why;
  }
}

// The longest distance and one more, the longest match and one more, by what was stored.
TEST(Lzf, KeepsDistancesAndLengthsAtTheirLimits) {
  for (const std::size_t distance : {8191U, 8192U, 8193U}) {
    for (const std::size_t length : {3U, 8U, 9U, 263U, 264U, 265U, 600U}) {
      std::vector<std::byte> bytes(distance + length);
      std::uint64_t state = 7;
      for (std::size_t i = 0; i < bytes.size(); ++i) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        bytes[i] = i < distance ? static_cast<std::byte>(state >> 56) : bytes[i - distance];
      }
      const ChunkForm of{ElementKind::uint8, {static_cast<std::int64_t>(bytes.size())}};
      ChunkCoder coder = ChunkCoder::create({LzfCodec()}, of).value();
      const auto stored = copy_of(coder.encode(bytes).value().bytes);
      std::vector<std::byte> decoded(bytes.size());
      ASSERT_TRUE(coder.decode({stored, 0}, decoded).ok()) << distance << ' ' << length;
      EXPECT_EQ(decoded, bytes) << distance << ' ' << length;
    }
  }
}

TEST(Checksums, FindEveryFlippedBitOfAByte) {
  for (const char* const name : {"crc32c", "fletcher32"}) {
    ChunkCoder coder = ChunkCoder::create(parse_pipeline(name).value(), form).value();
    const auto chunk = bytes_of_doubles(smooth_numbers(1200));
    auto stored = copy_of(coder.encode(chunk).value().bytes);
    std::vector<std::byte> decoded(chunk.size());
    for (std::size_t at = 0; at < stored.size(); at += 101) {
      stored[at] ^= std::byte{0x10};
      const Status status = coder.decode({stored, 0}, decoded);
      ASSERT_FALSE(status.ok()) << name << at;
      EXPECT_EQ(status.error().code, ErrorCode::corrupt);
      EXPECT_NE(status.error().text().find("checksum"), std::string::npos);
      stored[at] ^= std::byte{0x10};
    }
    EXPECT_TRUE(coder.decode({stored, 0}, decoded).ok());
    // HDF5 notes with a chunk that a filter was not applied.
    EXPECT_TRUE(coder.decode({chunk, 1}, decoded).ok());
  }
}

// Zstd's checksums miss only a bit that decoding does not look at.
TEST(Checksums, OfZstdLetNoWrongBytesPass) {
  if (!built_with("zstd")) GTEST_SKIP() << "this build has no library for it";
  ChunkCoder coder = ChunkCoder::create(parse_pipeline("zstd").value(), form).value();
  const auto chunk = bytes_of_doubles(smooth_numbers(1200));
  auto stored = copy_of(coder.encode(chunk).value().bytes);
  int found = 0;
  for (std::size_t at = 0; at < stored.size(); ++at) {
    std::vector<std::byte> decoded(chunk.size());
    stored[at] ^= std::byte{0x10};
    if (coder.decode({stored, 0}, decoded).ok()) {
      EXPECT_EQ(decoded, chunk) << at;
    } else {
      ++found;
    }
    stored[at] ^= std::byte{0x10};
  }
  EXPECT_GT(found, static_cast<int>(stored.size()) - 3);
}

class Zfp : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (!built_with("zfp:1")) GTEST_SKIP() << "this build has no library for it";
  }
};

TEST_P(Zfp, KeepsToItsToleranceOrStoresWithoutLoss) {
  const ZfpCodec codec{.tolerance = 1e-4, .header = GetParam()};
  ChunkCoder coder = ChunkCoder::create({codec}, form).value();
  const auto numbers = smooth_numbers(1200);
  const auto chunk = bytes_of_doubles(numbers);
  auto encoded = coder.encode(chunk);
  ASSERT_TRUE(encoded.ok()) << encoded.error().text();
  EXPECT_EQ(encoded.value().skipped, 0U);
  EXPECT_LT(encoded.value().bytes.size(), chunk.size() / 3);
  auto stored = copy_of(encoded.value().bytes);
  std::vector<std::byte> decoded(chunk.size());
  ASSERT_TRUE(coder.decode({stored, 0}, decoded).ok());
  EXPECT_NE(decoded, chunk);
  const auto read = doubles_of(decoded);
  for (std::size_t i = 0; i < numbers.size(); ++i) ASSERT_LE(std::abs(read[i] - numbers[i]), 1e-4);

  for (const double wild :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), 1e300}) {
    auto broken = numbers;
    broken[77] = wild;
    const auto whole = bytes_of_doubles(broken);
    encoded = coder.encode(whole);
    ASSERT_TRUE(encoded.ok()) << encoded.error().text();
    EXPECT_EQ(encoded.value().skipped, GetParam() ? 0U : 1U);
    stored = copy_of(encoded.value().bytes);
    ASSERT_TRUE(coder.decode({stored, encoded.value().skipped}, decoded).ok());
    EXPECT_EQ(decoded, whole);
  }
}

// Dimensions of one element do not count.
TEST_P(Zfp, TakesFourDimensionsAndNoMore) {
  const ZfpCodec codec{.tolerance = 1e-4, .header = GetParam()};
  for (const ChunkForm& of : {ChunkForm{ElementKind::float64, {5, 4, 3, 2}},
                              ChunkForm{ElementKind::float64, {5, 1, 4, 3, 1, 2}}}) {
    auto coder = ChunkCoder::create({codec}, of);
    ASSERT_TRUE(coder.ok()) << coder.error().text();
    const auto numbers = smooth_numbers(120);
    const auto chunk = bytes_of_doubles(numbers);
    const auto encoded = coder.value().encode(chunk);
    ASSERT_TRUE(encoded.ok()) << encoded.error().text();
    const auto stored = copy_of(encoded.value().bytes);
    std::vector<std::byte> decoded(chunk.size());
    ASSERT_TRUE(coder.value().decode({stored, encoded.value().skipped}, decoded).ok());
    const auto read = doubles_of(decoded);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      ASSERT_LE(std::abs(read[i] - numbers[i]), 1e-4);
    }
  }
  const auto refused = ChunkCoder::create({codec}, {ElementKind::float64, {5, 4, 3, 2, 2}});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().text().find("zfp"), std::string::npos) << refused.error().text();
}

INSTANTIATE_TEST_SUITE_P(Header, Zfp, testing::Bool(), [](const auto& one) {
  return std::string(one.param ? "inTheStream" : "inTheFormat");
});

}  // namespace
}  // namespace weir::storage
