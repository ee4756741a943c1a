// One step of a pipeline: bytes to bytes. For src/storage/codecs/ alone.
//
// Encoders are given room for most_encoded() bytes; decoders write into `to` and refuse what
// decodes to more. Both give the bytes written. Encoded bytes are untrusted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/status.hpp"
#include "storage/codecs/codec.hpp"

namespace weir::storage {

using ConstBytes = std::span<const std::byte>;
using Bytes = std::span<std::byte>;

// What is kept from chunk to chunk because making it costs as much as a small chunk.
struct CodecContext {
  std::shared_ptr<void> zstd_encoder;
  std::shared_ptr<void> zstd_decoder;
  std::vector<std::byte> zfp_decoded;  // to compare with what was encoded
  std::vector<std::byte> zfp_padded;   // what is decoded, with zeros behind
};

struct CodecStep {
  const ChunkForm& form;
  CodecContext& context;
};

using Coded = Result<std::int64_t>;  // the bytes written

[[nodiscard]] bool has_library(const Codec& codec);

// At least what encoding so many bytes takes.
[[nodiscard]] std::int64_t most_encoded(const Codec& codec, std::int64_t bytes,
                                        const ChunkForm& form);

// "cannot be decoded by zstd: WHY".
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
// -1: the chunk cannot be stored within the tolerance, and without a header there is no lossless
// form: the step has to be skipped.
Coded encode_step(const ZfpCodec& codec, const CodecStep& step, ConstBytes from, Bytes to);
Coded decode_step(const ZfpCodec& codec, const CodecStep& step, ConstBytes from, Bytes to);

// What the libraries say encoding takes at most; only asked for where has_library().
[[nodiscard]] std::int64_t most_deflated(std::int64_t bytes);
[[nodiscard]] std::int64_t most_by_zstd(std::int64_t bytes);
[[nodiscard]] std::int64_t most_by_bitshuffle(const BitshuffleCodec& codec, std::int64_t bytes);
// With all parameters, as HDF5's filter chooses them.
[[nodiscard]] SzipCodec complete(const SzipCodec& codec, const ChunkForm& form);
// Whether there are deltas of such numbers.
[[nodiscard]] bool has_delta(array::ElementKind kind);
[[nodiscard]] std::int64_t most_by_zfp(const ChunkForm& form);

}  // namespace weir::storage
