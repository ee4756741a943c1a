// The LZF codec of LibLZF, h5py's filter. A stream is a sequence of the following items, which
// differ in the upper bits of the first byte:
//
// clang-format off
//     000LLLLL                      L + 1 bytes follow unchanged
//     LLLHHHHH  OOOOOOOO            copy L + 2 bytes, 0 < L < 7, from H * 256 + O + 1 bytes before
//     111HHHHH  LLLLLLLL  OOOOOOOO  copy L + 9 bytes from H * 256 + O + 1 bytes before
// clang-format on
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <utility>

#include "codecs/codec_steps.hpp"

namespace weir::storage {
namespace {

constexpr std::size_t most_literals = 32;
constexpr std::size_t most_matched = 264;
constexpr std::size_t most_distance = 8192;
constexpr std::size_t least_matched = 3;
constexpr unsigned table_bits = 14;

// Returns the place in the table for three bytes, computed from their product with a 32-bit prime.
std::size_t place_of(const std::byte* three) {
  const std::uint32_t bytes = std::to_integer<std::uint32_t>(three[0]) << 16 |
                              std::to_integer<std::uint32_t>(three[1]) << 8 |
                              std::to_integer<std::uint32_t>(three[2]);
  return bytes * 2654435761U >> (32 - table_bits);
}

// Writes a stream and remembers whether the room was sufficient.
class LzfWriter {
 public:
  explicit LzfWriter(Bytes to) : to_(to) {}

  void literals(ConstBytes bytes) {
    for (std::size_t at = 0; at < bytes.size(); at += most_literals) {
      const std::size_t count = std::min(most_literals, bytes.size() - at);
      put(count - 1);
      if (!fits(count)) return;
      std::memcpy(to_.data() + written_, bytes.data() + at, count);
      written_ += count;
    }
  }
  void match(std::size_t length, std::size_t distance) {
    const std::size_t high = (distance - 1) >> 8;
    if (length < 9) {
      put((length - 2) << 5 | high);
    } else {
      put(7U << 5 | high);
      put(length - 9);
    }
    put((distance - 1) & 0xFFU);
  }
  [[nodiscard]] bool is_full() const { return is_full_; }
  [[nodiscard]] std::size_t written() const { return written_; }

 private:
  bool fits(std::size_t bytes) {
    is_full_ = is_full_ || to_.size() - written_ < bytes;
    return !is_full_;
  }
  void put(std::size_t byte) {
    if (fits(1)) to_[written_++] = static_cast<std::byte>(byte);
  }

  Bytes to_;
  std::size_t written_ = 0;
  bool is_full_ = false;
};

std::size_t matching(ConstBytes from, std::size_t before, std::size_t at) {
  const std::size_t most = std::min(most_matched, from.size() - at);
  std::size_t length = 0;
  while (length < most && from[before + length] == from[at + length]) ++length;
  return length;
}

}  // namespace

Result<std::int64_t> encode_step(const LzfCodec& /*codec*/, const CodecStep& /*step*/,
                                 ConstBytes from, Bytes to) {
  LzfWriter writer(to);
  std::array<std::size_t, std::size_t{1} << table_bits> last{};  // positions plus 1; 0: none
  std::size_t unwritten = 0;
  std::size_t at = 0;
  while (at + least_matched <= from.size()) {
    const std::size_t place = place_of(from.data() + at);
    const std::size_t before = std::exchange(last.at(place), at + 1);
    const bool is_near = before != 0 && at - (before - 1) <= most_distance;
    const std::size_t length = is_near ? matching(from, before - 1, at) : 0;
    if (length < least_matched) {
      ++at;
      continue;
    }
    writer.literals(from.subspan(unwritten, at - unwritten));
    writer.match(length, at - (before - 1));
    at += length;
    unwritten = at;
  }
  writer.literals(from.subspan(unwritten));
  if (writer.is_full()) return undecodable("lzf", "the encoded bytes do not fit");
  return static_cast<std::int64_t>(writer.written());
}

Result<std::int64_t> decode_step(const LzfCodec& /*codec*/, const CodecStep& /*step*/,
                                 ConstBytes from, Bytes to) {
  const auto cut_off = [] { return undecodable("lzf", "it is truncated"); };
  std::size_t at = 0;
  std::size_t written = 0;
  while (at < from.size()) {
    const auto control = std::to_integer<std::size_t>(from[at++]);
    std::size_t length = control >> 5;
    if (length == 0) {
      length = control + 1;
      if (from.size() - at < length) return cut_off();
      if (to.size() - written < length) return undecodable("lzf", "it is too long");
      std::memcpy(to.data() + written, from.data() + at, length);
      at += length;
      written += length;
      continue;
    }
    const bool is_long = length == 7;
    if (from.size() - at < (is_long ? 2U : 1U)) return cut_off();
    if (is_long) length += std::to_integer<std::size_t>(from[at++]);
    length += 2;
    const std::size_t distance =
        ((control & 0x1FU) << 8 | std::to_integer<std::size_t>(from[at++])) + 1;
    if (distance > written) return undecodable("lzf", "it refers to bytes before its first one");
    if (to.size() - written < length) return undecodable("lzf", "it is too long");
    // Copies byte by byte, because the source may overlap the copied bytes.
    for (std::size_t i = 0; i < length; ++i, ++written) to[written] = to[written - distance];
  }
  return static_cast<std::int64_t>(written);
}

}  // namespace weir::storage
