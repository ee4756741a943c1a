// Codecs that need no library: the byte shuffle and the checksums.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "codecs/codec_steps.hpp"
#include "common/crc32c.hpp"
#include "common/numbers_in_bytes.hpp"

namespace weir::storage {
namespace {

constexpr std::size_t sum_bytes = 4;

// With a size known at compile time, the inner loop becomes a few instructions.
template <std::size_t size>
void shuffle_fixed(const std::byte* from, std::byte* to, std::size_t elements) {
  for (std::size_t i = 0; i < elements; ++i) {
    for (std::size_t j = 0; j < size; ++j) to[j * elements + i] = from[i * size + j];
  }
}

template <std::size_t size>
void gather_fixed(const std::byte* from, std::byte* to, std::size_t elements) {
  for (std::size_t i = 0; i < elements; ++i) {
    for (std::size_t j = 0; j < size; ++j) to[i * size + j] = from[j * elements + i];
  }
}

void shuffle(const std::byte* from, std::byte* to, std::size_t elements, std::size_t size) {
  switch (size) {
    case 2:
      return shuffle_fixed<2>(from, to, elements);
    case 4:
      return shuffle_fixed<4>(from, to, elements);
    case 8:
      return shuffle_fixed<8>(from, to, elements);
    default:
      for (std::size_t j = 0; j < size; ++j) {
        for (std::size_t i = 0; i < elements; ++i) to[j * elements + i] = from[i * size + j];
      }
  }
}

void gather(const std::byte* from, std::byte* to, std::size_t elements, std::size_t size) {
  switch (size) {
    case 2:
      return gather_fixed<2>(from, to, elements);
    case 4:
      return gather_fixed<4>(from, to, elements);
    case 8:
      return gather_fixed<8>(from, to, elements);
    default:
      for (std::size_t j = 0; j < size; ++j) {
        for (std::size_t i = 0; i < elements; ++i) to[i * size + j] = from[j * elements + i];
      }
  }
}

// Moves whole elements. Bytes after the last whole element keep their places.
template <typename Move>
Result<std::int64_t> move_elements(const ShuffleCodec& codec, const CodecStep& step,
                                   ConstBytes from, Bytes to, const Move& move) {
  if (to.size() < from.size()) return undecodable("shuffle", "it is too long");
  const auto size = static_cast<std::size_t>(codec.element_bytes > 0 ? codec.element_bytes
                                                                     : step.form.type.bytes());
  const std::size_t elements = from.size() / size;
  const std::size_t moved = elements * size;
  move(from.data(), to.data(), elements, size);
  if (moved < from.size()) std::memcpy(to.data() + moved, from.data() + moved, from.size() - moved);
  return static_cast<std::int64_t>(from.size());
}

void copy(ConstBytes from, Bytes to) {
  if (!from.empty()) std::memcpy(to.data(), from.data(), from.size());
}

std::int64_t append_sum(ConstBytes from, Bytes to, std::uint32_t sum) {
  copy(from, to);
  put_number(to, from.size(), sum);
  return static_cast<std::int64_t>(from.size() + sum_bytes);
}

std::uint32_t sum_after(ConstBytes from) {
  return number_at<std::uint32_t>(from, from.size() - sum_bytes);
}

Error wrong_sum(std::string_view codec, std::uint32_t is, std::uint32_t should) {
  return undecodable(codec, fmt::format("its checksum is {:08x} and should be {:08x}; the file is "
                                        "damaged",
                                        is, should));
}

// Returns the Fletcher-32 checksum of HDF5. It sums big-endian numbers of two bytes; an odd last
// byte counts as if a zero followed. The sums are in ones' complement: a multiple of 65535 becomes
// 65535, not 0.
std::uint32_t fletcher32(ConstBytes bytes) {
  constexpr std::size_t numbers_together = 4096;  // so that no sum overflows
  const auto fold = [](std::uint64_t sum) {
    while (sum > 0xFFFF) sum = (sum & 0xFFFF) + (sum >> 16);
    return sum;
  };
  const auto value = [&](std::size_t at) { return static_cast<std::uint64_t>(bytes[at]); };
  std::uint64_t first = 0;
  std::uint64_t second = 0;
  const std::size_t even = bytes.size() / 2 * 2;
  for (std::size_t at = 0; at < even;) {
    const std::size_t end = std::min(even, at + 2 * numbers_together);
    for (; at < end; at += 2) {
      first += value(at) << 8 | value(at + 1);
      second += first;
    }
    first = fold(first);
    second = fold(second);
  }
  if (even < bytes.size()) {
    first = fold(first + (value(even) << 8));
    second = fold(second + first);
  }
  return static_cast<std::uint32_t>(second << 16 | first);
}

// Returns the checksum that HDF5 1.6.2 and older wrote on little-endian machines. Newer versions of
// HDF5 also accept it.
std::uint32_t with_bytes_of_halves_swapped(std::uint32_t sum) {
  return (sum & 0x00FF00FFU) << 8 | (sum >> 8 & 0x00FF00FFU);
}

}  // namespace

Result<std::int64_t> encode_step(const ShuffleCodec& codec, const CodecStep& step, ConstBytes from,
                                 Bytes to) {
  return move_elements(codec, step, from, to, shuffle);
}

Result<std::int64_t> decode_step(const ShuffleCodec& codec, const CodecStep& step, ConstBytes from,
                                 Bytes to) {
  return move_elements(codec, step, from, to, gather);
}

Result<std::int64_t> encode_step(const Crc32cCodec& /*codec*/, const CodecStep& /*step*/,
                                 ConstBytes from, Bytes to) {
  return append_sum(from, to, crc32c(from));
}

Result<std::int64_t> decode_step(const Crc32cCodec& /*codec*/, const CodecStep& /*step*/,
                                 ConstBytes from, Bytes to) {
  if (from.size() < sum_bytes) return undecodable("crc32c", "it is shorter than a checksum");
  const ConstBytes data = from.first(from.size() - sum_bytes);
  const std::uint32_t sum = crc32c(data);
  if (sum != sum_after(from)) return wrong_sum("crc32c", sum, sum_after(from));
  if (data.size() > to.size()) return undecodable("crc32c", "it is too long");
  copy(data, to);
  return static_cast<std::int64_t>(data.size());
}

Result<std::int64_t> encode_step(const Fletcher32Codec& /*codec*/, const CodecStep& /*step*/,
                                 ConstBytes from, Bytes to) {
  return append_sum(from, to, fletcher32(from));
}

Result<std::int64_t> decode_step(const Fletcher32Codec& /*codec*/, const CodecStep& /*step*/,
                                 ConstBytes from, Bytes to) {
  if (from.size() < sum_bytes) return undecodable("fletcher32", "it is shorter than a checksum");
  const ConstBytes data = from.first(from.size() - sum_bytes);
  const std::uint32_t sum = fletcher32(data);
  const std::uint32_t stored = sum_after(from);
  if (stored != sum && stored != with_bytes_of_halves_swapped(sum)) {
    return wrong_sum("fletcher32", sum, stored);
  }
  if (data.size() > to.size()) return undecodable("fletcher32", "it is too long");
  copy(data, to);
  return static_cast<std::int64_t>(data.size());
}

}  // namespace weir::storage
