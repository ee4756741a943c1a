// Codecs as values: what is done to the bytes of a chunk, one after the other, before they are
// stored. A format says which ones a file has (Zarr's "codecs", HDF5's filters); users give them as
// text. src/storage/codecs/chunk_coder.hpp carries them out.
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

// A chunk as it is stored: extents from the slowest dimension to the fastest.
struct ChunkForm {
  array::ElementType type;
  array::Indices extents;
};

// The first bytes of all elements, then the second ones, …: numbers that resemble each other
// compress better so.
struct ShuffleCodec {
  std::int64_t element_bytes = 0;  // 0: those of the array's elements
  friend bool operator==(const ShuffleCodec&, const ShuffleCodec&) = default;
};

struct DeflateCodec {
  int level = 6;      // 0 to 9
  bool gzip = false;  // with gzip's header and checksum instead of zlib's
  friend bool operator==(const DeflateCodec&, const DeflateCodec&) = default;
};

// h5py's own filter: fast, and compresses less than the others.
struct LzfCodec {
  friend bool operator==(const LzfCodec&, const LzfCodec&) = default;
};

// HDF5's filter of that name: blocks of LZ4.
struct Lz4Codec {
  std::int64_t block_bytes = 0;  // 0: 2^30
  friend bool operator==(const Lz4Codec&, const Lz4Codec&) = default;
};

enum class BitshuffleCompressor : std::uint8_t { none, lz4, zstd };

// HDF5's filter of that name: the first bits of all elements, then the second ones, ….
struct BitshuffleCodec {
  BitshuffleCompressor compressor = BitshuffleCompressor::lz4;
  int level = 1;                    // of zstd
  std::int64_t element_bytes = 0;   // 0: those of the array's elements
  std::int64_t block_elements = 0;  // 0: the filter's own choice
  friend bool operator==(const BitshuffleCodec&, const BitshuffleCodec&) = default;
};

// HDF5's filter szip, by the parameters of SZIP's own library.
struct SzipCodec {
  int options = 1 + 128 + 32 + 8;  // 32: from the number before, 4: by entropy alone
  int pixels_per_block = 32;
  int bits_per_pixel = 0;   // 0: those of the array's elements
  int pixels_per_line = 0;  // 0: HDF5's own choice for the chunk
  friend bool operator==(const SzipCodec&, const SzipCodec&) = default;
};

// numcodecs' filter of that name: what each number adds to the one before.
struct DeltaCodec {
  array::ElementKind stored = array::ElementKind::record;  // record: the array's own type

  [[nodiscard]] array::ElementKind stored_kind(const ChunkForm& form) const {
    return stored == array::ElementKind::record ? form.type.kind() : stored;
  }
  friend bool operator==(const DeltaCodec&, const DeltaCodec&) = default;
};

struct ZstdCodec {
  int level = 1;         // -7 to 22; 0 is the library's own choice
  bool checksum = true;  // of the decoded bytes, in zstd's own frame (32 bits of XXH64)
  friend bool operator==(const ZstdCodec&, const ZstdCodec&) = default;
};

enum class BloscCompressor : std::uint8_t { blosclz, lz4, lz4hc, snappy, zlib, zstd };
enum class BloscShuffle : std::uint8_t { none, byte, bit };

// Blosc 1, which is what Zarr calls blosc.
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

// Lossy: every number is stored to within `tolerance`. Each chunk is decoded after it was encoded;
// one that does not keep to that (values that are not finite, or too large for it) is stored
// without loss.
struct ZfpCodec {
  double tolerance = 0;  // > 0, absolute; 0: without loss
  // The stream begins with zfp's header (Zarr's zfpy); otherwise the format keeps it (HDF5) and
  // `mode` of files of others is zfp's word for how they were encoded.
  bool header = false;
  std::uint64_t mode = 0;
  friend bool operator==(const ZfpCodec&, const ZfpCodec&) = default;
};

// Checksums of 4 bytes at the end, verified on decoding.
struct Crc32cCodec {
  friend bool operator==(const Crc32cCodec&, const Crc32cCodec&) = default;
};
struct Fletcher32Codec {
  friend bool operator==(const Fletcher32Codec&, const Fletcher32Codec&) = default;
};

using Codec = std::variant<ShuffleCodec, DeflateCodec, ZstdCodec, BloscCodec, Blosc2Codec, ZfpCodec,
                           Crc32cCodec, Fletcher32Codec, LzfCodec, Lz4Codec, BitshuffleCodec,
                           SzipCodec, DeltaCodec>;
// In the order of encoding.
using Pipeline = std::vector<Codec>;

// "zstd": without parameters.
[[nodiscard]] std::string_view codec_name(const Codec& codec);

// Reads what users write: codecs separated by commas, parameters after colons:
//
//     shuffle                        bytes of elements
//     deflate:LEVEL  gzip:LEVEL      zlib; 6
//     zstd:LEVEL                     1
//     blosc:COMPRESSOR:LEVEL:SHUFFLE   lz4 (blosclz, lz4hc, snappy, zlib, zstd), 5, byte (none,
//     bit)
//     blosc2:COMPRESSOR:LEVEL:SHUFFLE  zstd, 5, byte
//     zfp:TOLERANCE                  must be given
//     bitshuffle:COMPRESSOR          lz4 (none, zstd)
//     szip:OPTIONS:PIXELS            nn (ec), 32 in a block
//     delta:TYPE                     the array's own
//     crc32c  fletcher32  lzf  lz4
//
// "" is no codec at all. Fails on what is none of these, with their names.
[[nodiscard]] Result<Pipeline> parse_pipeline(std::string_view text);
// What parse_pipeline() reads.
[[nodiscard]] std::string pipeline_text(const Pipeline& pipeline);

// Fails when a library is not in this build, a parameter is out of range, zfp or delta is not the
// first codec or not for numbers that it has, or a chunk has 4 GiB or more.
[[nodiscard]] Status check_pipeline(const Pipeline& pipeline, const ChunkForm& form);

// The names of the codecs that this build has libraries for.
[[nodiscard]] std::vector<std::string_view> codecs_of_this_build();

}  // namespace weir::storage
