// HDF5's filter szip: the number of bytes of the chunk (4 bytes, little-endian), then a stream of
// SZIP, which libaec implements in szlib.h.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "codecs/codec_steps.hpp"
#include "common/numbers_in_bytes.hpp"

#ifdef WEIR_WITH_SZIP
extern "C" {  // the header lacks this
#include <szlib.h>
}
#endif

namespace weir::storage {

SzipCodec complete(const SzipCodec& codec, const ChunkForm& form) {
  // Makes the same choices as HDF5's filter (H5Zszip.c) for a chunk of these elements.
  constexpr std::int64_t blocks_in_long_line = 128;
  constexpr std::int64_t pixels_in_long_line = 4096;
  SzipCodec full = codec;
  if (full.bits_per_pixel == 0) {
    full.bits_per_pixel = static_cast<int>(8 * form.type.bytes());
  }
  if (full.pixels_per_line > 0) return full;
  std::int64_t pixels = 1;
  for (const std::int64_t extent : form.extents) pixels *= extent;
  const std::int64_t fastest = form.extents.empty() ? 1 : form.extents[form.extents.size() - 1];
  const std::int64_t most = full.pixels_per_block * blocks_in_long_line;
  std::int64_t line = std::min(most, fastest);
  if (fastest < full.pixels_per_block) line = std::min(most, pixels);
  if (fastest > pixels_in_long_line) line = most;
  full.pixels_per_line = static_cast<int>(line);
  return full;
}

#ifdef WEIR_WITH_SZIP

namespace {

constexpr std::size_t szip_header_bytes = 4;

SZ_com_t parameters_of(const SzipCodec& codec, const ChunkForm& form) {
  const SzipCodec full = complete(codec, form);
  SZ_com_t parameters{};
  parameters.options_mask = full.options;
  parameters.bits_per_pixel = full.bits_per_pixel;
  parameters.pixels_per_block = full.pixels_per_block;
  parameters.pixels_per_scanline = full.pixels_per_line;
  return parameters;
}

}  // namespace

Result<std::int64_t> encode_step(const SzipCodec& codec, const CodecStep& step, ConstBytes from,
                                 Bytes to) {
  put_number(to, 0, static_cast<std::uint32_t>(from.size()));
  SZ_com_t parameters = parameters_of(codec, step.form);
  std::size_t bytes = to.size() - szip_header_bytes;
  const int failed = SZ_BufftoBuffCompress(to.data() + szip_header_bytes, &bytes, from.data(),
                                           from.size(), &parameters);
  if (failed != SZ_OK) return undecodable("szip", fmt::format("its library reports: {}", failed));
  return static_cast<std::int64_t>(szip_header_bytes + bytes);
}

Result<std::int64_t> decode_step(const SzipCodec& codec, const CodecStep& step, ConstBytes from,
                                 Bytes to) {
  if (from.size() < szip_header_bytes) return undecodable("szip", "it is truncated");
  const auto count = number_at<std::uint32_t>(from);
  if (count > to.size()) return undecodable("szip", "it is too long");
  SZ_com_t parameters = parameters_of(codec, step.form);
  std::size_t bytes = count;
  const int failed = SZ_BufftoBuffDecompress(to.data(), &bytes, from.data() + szip_header_bytes,
                                             from.size() - szip_header_bytes, &parameters);
  if (failed != SZ_OK) return undecodable("szip", fmt::format("its library reports: {}", failed));
  if (bytes != count) return undecodable("szip", "it is truncated");
  return static_cast<std::int64_t>(bytes);
}

#else

Result<std::int64_t> encode_step(const SzipCodec& /*codec*/, const CodecStep& /*step*/,
                                 ConstBytes /*from*/, Bytes /*to*/) {
  return undecodable("szip", "this build has no library for it");
}

Result<std::int64_t> decode_step(const SzipCodec& /*codec*/, const CodecStep& /*step*/,
                                 ConstBytes /*from*/, Bytes /*to*/) {
  return undecodable("szip", "this build has no library for it");
}

#endif

}  // namespace weir::storage
