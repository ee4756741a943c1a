// Codecs as values. Codecs are applied to the bytes of a chunk, one after the other, before the
// chunk is stored. A file's format specifies its codecs (Zarr's "codecs", HDF5's filters); users
// specify them as text. src/codecs/chunk_coder.hpp applies them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "array/element_type.hpp"
#include "array/per_dimension.hpp"
#include "common/status.hpp"

namespace weir::storage {

// The form of a stored chunk; its extents are in the order from the slowest dimension to the
// fastest.
struct ChunkForm {
  array::ElementType type;
  array::Indices extents;
};

// Stores the first bytes of all elements, then their second bytes, and so on. Similar numbers
// compress better in this order.
struct ShuffleCodec {
  std::int64_t element_bytes = 0;  // 0: those of the array's elements
  friend bool operator==(const ShuffleCodec&, const ShuffleCodec&) = default;
};

struct DeflateCodec {
  int level = 6;      // 0 to 9
  bool gzip = false;  // with gzip's header and checksum instead of zlib's
  friend bool operator==(const DeflateCodec&, const DeflateCodec&) = default;
};

// h5py's filter LZF, which is fast but compresses less than the others.
struct LzfCodec {
  friend bool operator==(const LzfCodec&, const LzfCodec&) = default;
};

// HDF5's filter LZ4, which consists of LZ4 blocks.
struct Lz4Codec {
  std::int64_t block_bytes = 0;  // 0: 2^30
  friend bool operator==(const Lz4Codec&, const Lz4Codec&) = default;
};

enum class BitshuffleCompressor : std::uint8_t { none, lz4, zstd };

// HDF5's filter bitshuffle, which stores the first bits of all elements, then their second bits,
// and so on.
struct BitshuffleCodec {
  BitshuffleCompressor compressor = BitshuffleCompressor::lz4;
  int level = 1;                    // compression level of zstd
  std::int64_t element_bytes = 0;   // 0: those of the array's elements
  std::int64_t block_elements = 0;  // 0: the filter's own choice
  friend bool operator==(const BitshuffleCodec&, const BitshuffleCodec&) = default;
};

// HDF5's filter szip, with the parameters of the SZIP library.
struct SzipCodec {
  int options = 1 + 128 + 32 + 8;  // 32: nearest neighbour (nn), 4: entropy coding (ec)
  int pixels_per_block = 32;
  int bits_per_pixel = 0;   // 0: those of the array's elements
  int pixels_per_line = 0;  // 0: HDF5's own choice for the chunk
  friend bool operator==(const SzipCodec&, const SzipCodec&) = default;
};

// numcodecs' filter delta, which stores the difference of each number from the previous one.
struct DeltaCodec {
  array::ElementKind stored = array::ElementKind::record;  // record: the array's own type

  [[nodiscard]] array::ElementKind stored_kind(const ChunkForm& form) const {
    return stored == array::ElementKind::record ? form.type.kind() : stored;
  }
  friend bool operator==(const DeltaCodec&, const DeltaCodec&) = default;
};

struct ZstdCodec {
  int level = 1;         // -7 to 22; 0 is the library's own choice
  bool checksum = true;  // zstd's checksum of the decoded bytes in its frame (32 bits of XXH64)
  friend bool operator==(const ZstdCodec&, const ZstdCodec&) = default;
};

enum class BloscCompressor : std::uint8_t { blosclz, lz4, lz4hc, snappy, zlib, zstd };
enum class BloscShuffle : std::uint8_t { none, byte, bit };

// Blosc 1, which Zarr calls blosc.
struct BloscCodec {
  BloscCompressor compressor = BloscCompressor::lz4;
  int level = 5;  // 0 to 9
  BloscShuffle shuffle = BloscShuffle::byte;
  std::int64_t element_bytes = 0;  // 0: those of the array's elements
  std::int64_t block_bytes = 0;    // 0: the library's choice
  friend bool operator==(const BloscCodec&, const BloscCodec&) = default;
};

// A contiguous frame of Blosc 2 with one chunk.
struct Blosc2Codec {
  BloscCompressor compressor = BloscCompressor::zstd;  // not snappy
  int level = 5;
  BloscShuffle shuffle = BloscShuffle::byte;
  std::int64_t element_bytes = 0;
  friend bool operator==(const Blosc2Codec&, const Blosc2Codec&) = default;
};

// A lossy codec that stores every number to within `tolerance`. Each chunk is decoded after
// encoding. If it exceeds the tolerance (because values are not finite or too large), it is stored
// without loss.
struct ZfpCodec {
  double tolerance = 0;  // > 0, absolute; 0: lossless
  // If `header` is true, the stream begins with zfp's header (Zarr's zfpy). Otherwise the format
  // stores the header (HDF5), and in files of other writers, `mode` is zfp's mode word, which says
  // how they were encoded.
  bool header = false;
  std::uint64_t mode = 0;
  friend bool operator==(const ZfpCodec&, const ZfpCodec&) = default;
};

// Codecs that append a checksum of 4 bytes and verify it on decoding.
struct Crc32cCodec {
  friend bool operator==(const Crc32cCodec&, const Crc32cCodec&) = default;
};
struct Fletcher32Codec {
  friend bool operator==(const Fletcher32Codec&, const Fletcher32Codec&) = default;
};

using Codec = std::variant<ShuffleCodec, DeflateCodec, ZstdCodec, BloscCodec, Blosc2Codec, ZfpCodec,
                           Crc32cCodec, Fletcher32Codec, LzfCodec, Lz4Codec, BitshuffleCodec,
                           SzipCodec, DeltaCodec>;
// The codecs in the order of encoding.
using Pipeline = std::vector<Codec>;

// Returns the name without parameters, such as "zstd".
[[nodiscard]] std::string_view codec_name(const Codec& codec);

// Parses codecs that a user gives, separated by commas, with parameters after colons. Parameters
// may be omitted, except for TOLERANCE; the table shows their defaults, with other values in
// parentheses:
//
// clang-format off
//     shuffle                          no parameter; shuffles the bytes of elements
//     deflate:LEVEL, gzip:LEVEL        6
//     zstd:LEVEL                       1
//     blosc:COMPRESSOR:LEVEL:SHUFFLE   lz4 (blosclz, lz4hc, snappy, zlib, zstd), 5,
//                                      byte (none, bit)
//     blosc2:COMPRESSOR:LEVEL:SHUFFLE  zstd, 5, byte
//     zfp:TOLERANCE                    no default
//     bitshuffle:COMPRESSOR            lz4 (none, zstd)
//     szip:OPTIONS:PIXELS              nn (ec), 32 in a block
//     delta:TYPE                       the array's own type
//     crc32c, fletcher32, lzf, lz4     no parameter
// clang-format on
//
// "" means no codec. Fails on other text; the error lists the names of the codecs.
[[nodiscard]] Result<Pipeline> parse_pipeline(std::string_view text);
// Returns the text that parse_pipeline() reads as this pipeline.
[[nodiscard]] std::string pipeline_text(const Pipeline& pipeline);

// Fails if this build lacks a library, a parameter is out of range, zfp or delta is not the first
// codec or does not support the type of the numbers, or a chunk has 4 GiB or more.
[[nodiscard]] Status check_pipeline(const Pipeline& pipeline, const ChunkForm& form);

}  // namespace weir::storage
