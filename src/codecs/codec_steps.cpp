#include "codecs/codec_steps.hpp"

#include <fmt/format.h>

namespace weir::storage {
namespace {

#ifdef WEIR_WITH_ZLIB
constexpr bool with_zlib = true;
#else
constexpr bool with_zlib = false;
#endif
#ifdef WEIR_WITH_ZSTD
constexpr bool with_zstd = true;
#else
constexpr bool with_zstd = false;
#endif
#ifdef WEIR_WITH_BLOSC
constexpr bool with_blosc = true;
#else
constexpr bool with_blosc = false;
#endif
#ifdef WEIR_WITH_BLOSC2
constexpr bool with_blosc2 = true;
#else
constexpr bool with_blosc2 = false;
#endif
#ifdef WEIR_WITH_LZ4
constexpr bool with_lz4 = true;
#else
constexpr bool with_lz4 = false;
#endif
#ifdef WEIR_WITH_SZIP
constexpr bool with_szip = true;
#else
constexpr bool with_szip = false;
#endif
#ifdef WEIR_WITH_ZFP
constexpr bool with_zfp = true;
#else
constexpr bool with_zfp = false;
#endif

struct HasLibrary {
  bool operator()(const ShuffleCodec& /*codec*/) const { return true; }
  bool operator()(const DeflateCodec& /*codec*/) const { return with_zlib; }
  bool operator()(const ZstdCodec& /*codec*/) const { return with_zstd; }
  bool operator()(const BloscCodec& /*codec*/) const { return with_blosc; }
  bool operator()(const Blosc2Codec& /*codec*/) const { return with_blosc2; }
  bool operator()(const ZfpCodec& /*codec*/) const { return with_zfp; }
  bool operator()(const Crc32cCodec& /*codec*/) const { return true; }
  bool operator()(const Fletcher32Codec& /*codec*/) const { return true; }
  bool operator()(const LzfCodec& /*codec*/) const { return true; }
  bool operator()(const Lz4Codec& /*codec*/) const { return with_lz4; }
  bool operator()(const BitshuffleCodec& codec) const {
    switch (codec.compressor) {
      case BitshuffleCompressor::none:
        return true;
      case BitshuffleCompressor::lz4:
        return with_lz4;
      case BitshuffleCompressor::zstd:
        return with_zstd;
    }
    return false;
  }
  bool operator()(const SzipCodec& /*codec*/) const { return with_szip; }
  bool operator()(const DeltaCodec& /*codec*/) const { return true; }
};

struct MostEncoded {
  std::int64_t bytes;
  const ChunkForm& form;

  // Blosc stores incompressible bytes unchanged. Blosc 1 adds a header of 16 bytes; Blosc 2 adds a
  // header of 32 bytes and a frame.
  static constexpr std::int64_t blosc_header = 16;
  static constexpr std::int64_t blosc2_frame = 4096;
  static constexpr std::int64_t sum_bytes = 4;
  // LZF adds one byte before each 32 bytes that are stored unchanged, or before fewer bytes between
  // matches.
  static constexpr std::int64_t lzf_least = 16;

  std::int64_t operator()(const ShuffleCodec& /*codec*/) const { return bytes; }
  std::int64_t operator()(const DeflateCodec& /*codec*/) const { return most_deflated(bytes); }
  std::int64_t operator()(const ZstdCodec& /*codec*/) const { return most_by_zstd(bytes); }
  std::int64_t operator()(const BloscCodec& /*codec*/) const { return bytes + blosc_header; }
  std::int64_t operator()(const Blosc2Codec& /*codec*/) const { return bytes + blosc2_frame; }
  std::int64_t operator()(const ZfpCodec& /*codec*/) const { return most_by_zfp(form); }
  std::int64_t operator()(const Crc32cCodec& /*codec*/) const { return bytes + sum_bytes; }
  std::int64_t operator()(const Fletcher32Codec& /*codec*/) const { return bytes + sum_bytes; }
  std::int64_t operator()(const LzfCodec& /*codec*/) const {
    return bytes + bytes / lzf_least + lzf_least;
  }
  // LZ4 adds a header, and 4 bytes before each block. An incompressible block is stored unchanged.
  std::int64_t operator()(const Lz4Codec& codec) const {
    const std::int64_t blocks = codec.block_bytes > 0 ? bytes / codec.block_bytes + 1 : 5;
    return bytes + 12 + 4 * blocks;
  }
  std::int64_t operator()(const BitshuffleCodec& codec) const {
    return most_by_bitshuffle(codec, bytes);
  }
  std::int64_t operator()(const SzipCodec& /*codec*/) const { return bytes + bytes / 2 + 1024; }
  std::int64_t operator()(const DeltaCodec& codec) const {
    const std::int64_t numbers = bytes / form.type.bytes();
    return numbers * array::ElementType(codec.stored_kind(form)).bytes();
  }
};

}  // namespace

bool has_library(const Codec& codec) { return std::visit(HasLibrary(), codec); }

std::int64_t most_encoded(const Codec& codec, std::int64_t bytes, const ChunkForm& form) {
  return std::visit(MostEncoded{bytes, form}, codec);
}

Error undecodable(std::string_view codec, std::string_view why) {
  return Error(ErrorCode::corrupt, fmt::format("a chunk cannot be decoded by {}: {}", codec, why));
}

}  // namespace weir::storage
