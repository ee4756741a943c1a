#include <fmt/format.h>

#include <array>

#include "codecs/codec_steps.hpp"

#ifdef WEIR_WITH_BLOSC
#include <blosc.h>
#endif

namespace weir::storage {

#ifdef WEIR_WITH_BLOSC

namespace {

constexpr int threads = 1;  // ranks share the cores already

std::size_t element_bytes(const BloscCodec& codec, const ChunkForm& form) {
  const std::int64_t bytes = codec.element_bytes > 0 ? codec.element_bytes : form.type.bytes();
  return bytes > BLOSC_MAX_TYPESIZE ? 1 : static_cast<std::size_t>(bytes);
}

}  // namespace

Result<std::int64_t> encode_step(const BloscCodec& codec, const CodecStep& step, ConstBytes from,
                                 Bytes to) {
  constexpr std::array names = {BLOSC_BLOSCLZ_COMPNAME, BLOSC_LZ4_COMPNAME,  BLOSC_LZ4HC_COMPNAME,
                                BLOSC_SNAPPY_COMPNAME,  BLOSC_ZLIB_COMPNAME, BLOSC_ZSTD_COMPNAME};
  const char* const name = names.at(static_cast<std::size_t>(codec.compressor));
  if (from.size() > BLOSC_MAX_BUFFERSIZE) {
    return invalid_argument(
        fmt::format("a chunk of {} bytes: blosc takes at most {}; give smaller "
                    "chunks",
                    from.size(), std::size_t{BLOSC_MAX_BUFFERSIZE}));
  }
  const int bytes =
      blosc_compress_ctx(codec.level, static_cast<int>(codec.shuffle),
                         element_bytes(codec, step.form), from.size(), from.data(), to.data(),
                         to.size(), name, static_cast<std::size_t>(codec.block_bytes), threads);
  if (bytes > 0) return bytes;
  return Error(ErrorCode::unsupported,
               fmt::format("blosc failed with its error {}: its library may lack the compressor {}",
                           bytes, name));
}

Result<std::int64_t> decode_step(const BloscCodec& /*codec*/, const CodecStep& /*step*/,
                                 ConstBytes from, Bytes to) {
  std::size_t bytes = 0;
  if (from.size() < BLOSC_MIN_HEADER_LENGTH ||
      blosc_cbuffer_validate(from.data(), from.size(), &bytes) != 0) {
    return undecodable("blosc", "its header does not fit its length");
  }
  if (bytes > to.size()) return undecodable("blosc", "it is too long");
  const int decoded = blosc_decompress_ctx(from.data(), to.data(), bytes, threads);
  if (decoded < 0 || static_cast<std::size_t>(decoded) != bytes) {
    return undecodable("blosc", "it is damaged, or its library lacks the compressor");
  }
  return decoded;
}

#else

Result<std::int64_t> encode_step(const BloscCodec& /*codec*/, const CodecStep& /*step*/,
                                 ConstBytes /*from*/, Bytes /*to*/) {
  return undecodable("blosc", "this build has no library for it");
}

Result<std::int64_t> decode_step(const BloscCodec& /*codec*/, const CodecStep& /*step*/,
                                 ConstBytes /*from*/, Bytes /*to*/) {
  return undecodable("blosc", "this build has no library for it");
}

#endif

}  // namespace weir::storage
