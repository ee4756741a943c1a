// HDF5's filter bitshuffle. A block of elements contains the first bits of all its elements, then
// their second bits, and so on (from the lowest bit of each byte of an element). A block has a
// multiple of 8 elements. The last block may be shorter, and a rest of less than 8 elements follows
// unchanged. With a compressor, the number of bytes of the chunk (8 bytes) and of a block (4 bytes)
// come first, and the length (4 bytes) of each block precedes it. These numbers are big-endian.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

#include "codecs/codec_steps.hpp"
#include "codecs/lz4_block.hpp"
#include "common/numbers_in_bytes.hpp"

namespace weir::storage {
namespace {

constexpr std::size_t together = 8;  // number of elements whose bits form a byte

std::uint64_t transposed(std::uint64_t bits) {
  // Hacker's Delight, 7-3: an 8 x 8 matrix of bits.
  std::uint64_t swap = (bits ^ bits >> 7) & 0x00AA00AA00AA00AAU;
  bits ^= swap ^ swap << 7;
  swap = (bits ^ bits >> 14) & 0x0000CCCC0000CCCCU;
  bits ^= swap ^ swap << 14;
  swap = (bits ^ bits >> 28) & 0x00000000F0F0F0F0U;
  return bits ^ swap ^ swap << 28;
}

// Shuffles the bits of a multiple of 8 elements: byte j of elements 8 i to 8 i + 7 becomes byte i
// of the rows of bits 8 j to 8 j + 7.
void shuffle_bits(const std::byte* from, std::byte* to, std::size_t elements, std::size_t size) {
  const std::size_t row = elements / together;
  for (std::size_t i = 0; i < row; ++i) {
    for (std::size_t j = 0; j < size; ++j) {
      std::uint64_t bits = 0;
      for (std::size_t k = 0; k < together; ++k) {
        bits |= std::to_integer<std::uint64_t>(from[(i * together + k) * size + j]) << (8 * k);
      }
      bits = transposed(bits);
      for (std::size_t k = 0; k < together; ++k) {
        to[(j * together + k) * row + i] = static_cast<std::byte>(bits >> (8 * k) & 0xFFU);
      }
    }
  }
}

void gather_bits(const std::byte* from, std::byte* to, std::size_t elements, std::size_t size) {
  const std::size_t row = elements / together;
  for (std::size_t i = 0; i < row; ++i) {
    for (std::size_t j = 0; j < size; ++j) {
      std::uint64_t bits = 0;
      for (std::size_t k = 0; k < together; ++k) {
        bits |= std::to_integer<std::uint64_t>(from[(j * together + k) * row + i]) << (8 * k);
      }
      bits = transposed(bits);
      for (std::size_t k = 0; k < together; ++k) {
        to[(i * together + k) * size + j] = static_cast<std::byte>(bits >> (8 * k) & 0xFFU);
      }
    }
  }
}

std::size_t element_bytes(const BitshuffleCodec& codec, const CodecStep& step) {
  const std::int64_t bytes = codec.element_bytes > 0 ? codec.element_bytes : step.form.type.bytes();
  return static_cast<std::size_t>(bytes);
}

// Returns the filter's default block: 8192 bytes, at least 128 elements, a multiple of 8 elements.
std::size_t default_elements(std::size_t size) {
  return std::max<std::size_t>(128, 8192 / size / together * together);
}

// Calls each(offset, elements) for the blocks of `bytes` bytes; each has a multiple of 8 elements.
// Sets `end` to the end of the blocks. Stops at the first call that returns false.
template <typename Each>
bool for_each_block(std::size_t bytes, std::size_t size, std::size_t block, std::size_t& end,
                    const Each& each) {
  const std::size_t elements = bytes / size / together * together;
  end = elements * size;
  for (std::size_t at = 0; at < elements; at += block) {
    if (!each(at * size, std::min(block, elements - at))) return false;
  }
  return true;
}

Result<std::int64_t> compressed(const BitshuffleCodec& codec, const CodecStep& step,
                                ConstBytes from, Bytes to) {
  if (codec.compressor == BitshuffleCompressor::zstd) {
    return encode_step(ZstdCodec{.level = codec.level, .checksum = false}, step, from, to);
  }
  const auto bytes = encode_lz4_block(from, to);
  if (!bytes) return undecodable("bitshuffle", "LZ4 cannot encode a block of this length");
  return static_cast<std::int64_t>(*bytes);
}

bool decompresses(const BitshuffleCodec& codec, const CodecStep& step, ConstBytes from, Bytes to) {
  if (codec.compressor == BitshuffleCompressor::zstd) {
    const auto bytes = decode_step(ZstdCodec(), step, from, to);
    return bytes.ok() && bytes.value() == std::ssize(to);
  }
  return decode_lz4_block(from, to) == to.size();
}

Error damaged(std::string_view why) { return undecodable("bitshuffle", why); }

}  // namespace

std::int64_t most_by_bitshuffle(const BitshuffleCodec& codec, std::int64_t bytes) {
  if (codec.compressor == BitshuffleCompressor::none) return bytes;
  const auto all = static_cast<std::size_t>(bytes);
  // A block has at least 128 elements or is the only block; a file may specify blocks of 8
  // elements.
  return static_cast<std::int64_t>(lz4_header_bytes + most_by_lz4(all) + all / together * 24 +
                                   1024);
}

Result<std::int64_t> encode_step(const BitshuffleCodec& codec, const CodecStep& step,
                                 ConstBytes from, Bytes to) {
  const std::size_t size = element_bytes(codec, step);
  const std::size_t block = codec.block_elements > 0
                                ? static_cast<std::size_t>(codec.block_elements)
                                : default_elements(size);
  const bool is_plain = codec.compressor == BitshuffleCompressor::none;
  std::size_t written = 0;
  if (!is_plain) {
    put_number(to, 0, big_endian(std::uint64_t{from.size()}));
    put_number(to, 8, big_endian(static_cast<std::uint32_t>(block * size)));
    written = lz4_header_bytes;
  }
  std::vector<std::byte> bits;
  std::size_t end = 0;
  Status failed;
  const bool fine =
      for_each_block(from.size(), size, block, end, [&](std::size_t at, std::size_t elements) {
        const std::size_t bytes = elements * size;
        if (is_plain) {
          shuffle_bits(from.data() + at, to.data() + written, elements, size);
          written += bytes;
          return true;
        }
        bits.resize(bytes);
        shuffle_bits(from.data() + at, bits.data(), elements, size);
        const auto stored = compressed(codec, step, bits, to.subspan(written + lz4_length_bytes));
        if (!stored) {
          failed = stored.error();
          return false;
        }
        put_number(to, written, big_endian(static_cast<std::uint32_t>(stored.value())));
        written += lz4_length_bytes + static_cast<std::size_t>(stored.value());
        return true;
      });
  if (!fine) return failed.error();
  const ConstBytes left = from.subspan(end);
  if (!left.empty()) std::memcpy(to.data() + written, left.data(), left.size());
  return static_cast<std::int64_t>(written + left.size());
}

Result<std::int64_t> decode_step(const BitshuffleCodec& codec, const CodecStep& step,
                                 ConstBytes from, Bytes to) {
  const std::size_t size = element_bytes(codec, step);
  std::size_t bytes = from.size();
  std::size_t block = codec.block_elements > 0 ? static_cast<std::size_t>(codec.block_elements)
                                               : default_elements(size);
  std::size_t at = 0;
  const bool is_plain = codec.compressor == BitshuffleCompressor::none;
  if (!is_plain) {
    if (from.size() < lz4_header_bytes) return damaged("it is truncated");
    const auto told = big_endian_at<std::uint64_t>(from);
    if (told > to.size()) return damaged("it is too long");
    bytes = static_cast<std::size_t>(told);
    block = big_endian_at<std::uint32_t>(from, 8) / size;
    at = lz4_header_bytes;
  }
  if (bytes > to.size()) return damaged("it is too long");
  if (block == 0 || block % together != 0) return damaged("its blocks have fewer than 8 elements");
  std::vector<std::byte> bits;
  std::size_t end = 0;
  const bool fine =
      for_each_block(bytes, size, block, end, [&](std::size_t offset, std::size_t elements) {
        const std::size_t count = elements * size;
        if (is_plain) {
          gather_bits(from.data() + at, to.data() + offset, elements, size);
          at += count;
          return true;
        }
        if (from.size() - at < lz4_length_bytes) return false;
        const std::size_t stored = big_endian_at<std::uint32_t>(from, at);
        at += lz4_length_bytes;
        if (from.size() - at < stored) return false;
        bits.resize(count);
        if (!decompresses(codec, step, from.subspan(at, stored), bits)) return false;
        gather_bits(bits.data(), to.data() + offset, elements, size);
        at += stored;
        return true;
      });
  const std::size_t left = bytes - end;
  if (!fine || from.size() - at < left) return damaged("a block is damaged or truncated");
  if (left > 0) std::memcpy(to.data() + end, from.data() + at, left);
  return static_cast<std::int64_t>(bytes);
}

}  // namespace weir::storage
