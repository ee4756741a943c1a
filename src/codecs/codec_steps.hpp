// The steps of a pipeline, which convert bytes to bytes. For src/codecs/ only.
//
// Encoders get room for most_encoded() bytes. Decoders write into `to` and fail if the decoded
// bytes do not fit. Both return the number of bytes written. Encoded bytes are untrusted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "codecs/codec.hpp"
#include "common/status.hpp"

namespace weir::storage {

using ConstBytes = std::span<const std::byte>;
using Bytes = std::span<std::byte>;

// State that is reused for all chunks, because making it costs as much as encoding a small chunk.
struct CodecContext {
  std::shared_ptr<void> zstd_encoder;
  std::shared_ptr<void> zstd_decoder;
  std::vector<std::byte> zfp_decoded;  // decoded chunk, to be compared with the original
  std::vector<std::byte> zfp_padded;   // encoded bytes followed by zeros
};

struct CodecStep {
  const ChunkForm& form;
  CodecContext& context;
};

using Coded = Result<std::int64_t>;  // number of bytes written

[[nodiscard]] bool has_library(const Codec& codec);

// Returns an upper bound of the number of bytes to which `bytes` bytes are encoded.
[[nodiscard]] std::int64_t most_encoded(const Codec& codec, std::int64_t bytes,
                                        const ChunkForm& form);

// Returns an error such as "cannot be decoded by zstd: WHY".
[[nodiscard]] Error undecodable(std::string_view codec, std::string_view why);

Coded encode_step(const ShuffleCodec& codec, const CodecStep& step, ConstBytes from, Bytes to);
Coded decode_step(const ShuffleCodec& codec, const CodecStep& step, ConstBytes from, Bytes to);
Coded encode_step(const Crc32cCodec& codec, const CodecStep& step, ConstBytes from, Bytes to);
Coded decode_step(const Crc32cCodec& codec, const CodecStep& step, ConstBytes from, Bytes to);
Coded encode_step(const Fletcher32Codec& codec, const CodecStep& step, ConstBytes from, Bytes to);
Coded decode_step(const Fletcher32Codec& codec, const CodecStep& step, ConstBytes from, Bytes to);
Coded encode_step(const LzfCodec& codec, const CodecStep& step, ConstBytes from, Bytes to);
Coded decode_step(const LzfCodec& codec, const CodecStep& step, ConstBytes from, Bytes to);
Coded encode_step(const Lz4Codec& codec, const CodecStep& step, ConstBytes from, Bytes to);
Coded decode_step(const Lz4Codec& codec, const CodecStep& step, ConstBytes from, Bytes to);
Coded encode_step(const BitshuffleCodec& codec, const CodecStep& step, ConstBytes from, Bytes to);
Coded decode_step(const BitshuffleCodec& codec, const CodecStep& step, ConstBytes from, Bytes to);
Coded encode_step(const SzipCodec& codec, const CodecStep& step, ConstBytes from, Bytes to);
Coded decode_step(const SzipCodec& codec, const CodecStep& step, ConstBytes from, Bytes to);
Coded encode_step(const DeltaCodec& codec, const CodecStep& step, ConstBytes from, Bytes to);
Coded decode_step(const DeltaCodec& codec, const CodecStep& step, ConstBytes from, Bytes to);
Coded encode_step(const DeflateCodec& codec, const CodecStep& step, ConstBytes from, Bytes to);
Coded decode_step(const DeflateCodec& codec, const CodecStep& step, ConstBytes from, Bytes to);
Coded encode_step(const ZstdCodec& codec, const CodecStep& step, ConstBytes from, Bytes to);
Coded decode_step(const ZstdCodec& codec, const CodecStep& step, ConstBytes from, Bytes to);
Coded encode_step(const BloscCodec& codec, const CodecStep& step, ConstBytes from, Bytes to);
Coded decode_step(const BloscCodec& codec, const CodecStep& step, ConstBytes from, Bytes to);
Coded encode_step(const Blosc2Codec& codec, const CodecStep& step, ConstBytes from, Bytes to);
Coded decode_step(const Blosc2Codec& codec, const CodecStep& step, ConstBytes from, Bytes to);
// Returns -1 if the step must be skipped, because the chunk cannot be stored within the tolerance
// and the codec without a header has no lossless form.
Coded encode_step(const ZfpCodec& codec, const CodecStep& step, ConstBytes from, Bytes to);
Coded decode_step(const ZfpCodec& codec, const CodecStep& step, ConstBytes from, Bytes to);

// Return the libraries' upper bounds of encoded lengths. They are called only if has_library().
[[nodiscard]] std::int64_t most_deflated(std::int64_t bytes);
[[nodiscard]] std::int64_t most_by_zstd(std::int64_t bytes);
[[nodiscard]] std::int64_t most_by_bitshuffle(const BitshuffleCodec& codec, std::int64_t bytes);
// Returns the codec with all parameters, chosen like HDF5's filter does.
[[nodiscard]] SzipCodec complete(const SzipCodec& codec, const ChunkForm& form);
// Returns whether the delta codec supports numbers of this kind.
[[nodiscard]] bool has_delta(array::ElementKind kind);
[[nodiscard]] std::int64_t most_by_zfp(const ChunkForm& form);

}  // namespace weir::storage
