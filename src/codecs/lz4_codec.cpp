// HDF5's filter LZ4. It stores the number of bytes of the chunk (8 bytes) and of a block (4 bytes),
// then for each block its length (4 bytes) and the block. A block whose length equals its decoded
// length is stored unchanged. All numbers are big-endian.
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "codecs/codec_steps.hpp"
#include "codecs/lz4_block.hpp"
#include "common/numbers_in_bytes.hpp"

namespace weir::storage {
namespace {

constexpr std::size_t default_block = std::size_t{1} << 30;

}  // namespace

Result<std::int64_t> encode_step(const Lz4Codec& codec, const CodecStep& /*step*/, ConstBytes from,
                                 Bytes to) {
  const std::size_t asked =
      codec.block_bytes > 0 ? static_cast<std::size_t>(codec.block_bytes) : default_block;
  const std::size_t block = std::max<std::size_t>(1, std::min(asked, from.size()));
  put_number(to, 0, big_endian(std::uint64_t{from.size()}));
  put_number(to, 8, big_endian(static_cast<std::uint32_t>(block)));
  std::size_t written = lz4_header_bytes;
  std::vector<std::byte> encoded(most_by_lz4(block));
  for (std::size_t at = 0; at < from.size(); at += block) {
    const ConstBytes one = from.subspan(at, std::min(block, from.size() - at));
    const auto bytes = encode_lz4_block(one, encoded);
    if (!bytes) return undecodable("lz4", "its library cannot encode a block of this length");
    const ConstBytes stored = *bytes < one.size() ? ConstBytes(encoded).first(*bytes) : one;
    if (to.size() - written < lz4_length_bytes + stored.size()) {
      return undecodable("lz4", "the encoded bytes do not fit");
    }
    put_number(to, written, big_endian(static_cast<std::uint32_t>(stored.size())));
    std::memcpy(to.data() + written + lz4_length_bytes, stored.data(), stored.size());
    written += lz4_length_bytes + stored.size();
  }
  return static_cast<std::int64_t>(written);
}

Result<std::int64_t> decode_step(const Lz4Codec& /*codec*/, const CodecStep& /*step*/,
                                 ConstBytes from, Bytes to) {
  if (from.size() < lz4_header_bytes) return undecodable("lz4", "it is truncated");
  const auto bytes = big_endian_at<std::uint64_t>(from);
  const std::uint64_t block = big_endian_at<std::uint32_t>(from, 8);
  if (bytes > to.size()) return undecodable("lz4", "it is too long");
  if (block == 0 && bytes > 0) return undecodable("lz4", "its blocks are empty");
  std::size_t at = lz4_header_bytes;
  for (std::uint64_t written = 0; written < bytes;) {
    if (from.size() - at < lz4_length_bytes) return undecodable("lz4", "it is truncated");
    const std::size_t stored = big_endian_at<std::uint32_t>(from, at);
    at += lz4_length_bytes;
    if (from.size() - at < stored) return undecodable("lz4", "it is truncated");
    const ConstBytes one = from.subspan(at, stored);
    const Bytes room = to.subspan(written, std::min(block, bytes - written));
    if (stored == room.size()) {
      std::memcpy(room.data(), one.data(), stored);
    } else if (decode_lz4_block(one, room) != room.size()) {
      return undecodable("lz4", "a block is damaged");
    }
    at += stored;
    written += room.size();
  }
  return static_cast<std::int64_t>(bytes);
}

}  // namespace weir::storage
