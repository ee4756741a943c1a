#include "codecs/lz4_block.hpp"

#include <algorithm>
#include <limits>

#ifdef WEIR_WITH_LZ4
#include <lz4.h>
#endif

namespace weir::storage {

#ifdef WEIR_WITH_LZ4

namespace {

int length_for_lz4(std::size_t bytes) {
  return static_cast<int>(std::min<std::size_t>(bytes, std::numeric_limits<int>::max()));
}

const char* characters(const std::byte* bytes) { return reinterpret_cast<const char*>(bytes); }
char* characters(std::byte* bytes) { return reinterpret_cast<char*>(bytes); }

}  // namespace

std::optional<std::size_t> encode_lz4_block(std::span<const std::byte> from,
                                            std::span<std::byte> to) {
  if (from.size() > LZ4_MAX_INPUT_SIZE) return std::nullopt;
  const int bytes = LZ4_compress_default(characters(from.data()), characters(to.data()),
                                         length_for_lz4(from.size()), length_for_lz4(to.size()));
  if (bytes <= 0) return std::nullopt;
  return static_cast<std::size_t>(bytes);
}

std::optional<std::size_t> decode_lz4_block(std::span<const std::byte> from,
                                            std::span<std::byte> to) {
  if (from.size() > std::numeric_limits<int>::max()) return std::nullopt;
  const int bytes = LZ4_decompress_safe(characters(from.data()), characters(to.data()),
                                        length_for_lz4(from.size()), length_for_lz4(to.size()));
  if (bytes < 0) return std::nullopt;
  return static_cast<std::size_t>(bytes);
}

#else

std::optional<std::size_t> encode_lz4_block(std::span<const std::byte> /*from*/,
                                            std::span<std::byte> /*to*/) {
  return std::nullopt;
}

std::optional<std::size_t> decode_lz4_block(std::span<const std::byte> /*from*/,
                                            std::span<std::byte> /*to*/) {
  return std::nullopt;
}

#endif

}  // namespace weir::storage
