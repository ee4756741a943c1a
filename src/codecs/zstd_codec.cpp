#include <fmt/format.h>

#include "codecs/codec_steps.hpp"

#ifdef WEIR_WITH_ZSTD
#include <zstd.h>
#endif

namespace weir::storage {

#ifdef WEIR_WITH_ZSTD

namespace {

Error failed(std::string_view why) {
  return Error(ErrorCode::insufficient, fmt::format("zstd failed: {}", why));
}

}  // namespace

std::int64_t most_by_zstd(std::int64_t bytes) {
  return static_cast<std::int64_t>(ZSTD_compressBound(static_cast<std::size_t>(bytes)));
}

Result<std::int64_t> encode_step(const ZstdCodec& codec, const CodecStep& step, ConstBytes from,
                                 Bytes to) {
  if (!step.context.zstd_encoder) step.context.zstd_encoder = {ZSTD_createCCtx(), ZSTD_freeCCtx};
  auto* const context = static_cast<ZSTD_CCtx*>(step.context.zstd_encoder.get());
  if (context == nullptr) return failed("no memory");
  ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, codec.level);
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, codec.checksum ? 1 : 0);
  const std::size_t bytes = ZSTD_compress2(context, to.data(), to.size(), from.data(), from.size());
  if (ZSTD_isError(bytes) != 0) return failed(ZSTD_getErrorName(bytes));
  return static_cast<std::int64_t>(bytes);
}

Result<std::int64_t> decode_step(const ZstdCodec& /*codec*/, const CodecStep& step, ConstBytes from,
                                 Bytes to) {
  if (!step.context.zstd_decoder) step.context.zstd_decoder = {ZSTD_createDCtx(), ZSTD_freeDCtx};
  auto* const context = static_cast<ZSTD_DCtx*>(step.context.zstd_decoder.get());
  if (context == nullptr) return failed("no memory");
  // Decodes in one call, which allocates no window, whatever size the frame specifies.
  const std::size_t bytes =
      ZSTD_decompressDCtx(context, to.data(), to.size(), from.data(), from.size());
  if (ZSTD_isError(bytes) != 0) return undecodable("zstd", ZSTD_getErrorName(bytes));
  return static_cast<std::int64_t>(bytes);
}

#else

std::int64_t most_by_zstd(std::int64_t bytes) { return bytes; }

Result<std::int64_t> encode_step(const ZstdCodec& /*codec*/, const CodecStep& /*step*/,
                                 ConstBytes /*from*/, Bytes /*to*/) {
  return undecodable("zstd", "this build has no library for it");
}

Result<std::int64_t> decode_step(const ZstdCodec& /*codec*/, const CodecStep& /*step*/,
                                 ConstBytes /*from*/, Bytes /*to*/) {
  return undecodable("zstd", "this build has no library for it");
}

#endif

}  // namespace weir::storage
