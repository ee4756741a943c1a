#include <fmt/format.h>

#include "codecs/codec_steps.hpp"

#ifdef WEIR_WITH_ZLIB
#include <zlib.h>

#include <algorithm>
#endif

namespace weir::storage {

#ifdef WEIR_WITH_ZLIB

namespace {

// Returns the value by which zlib selects its own header or gzip's.
int window_bits(const DeflateCodec& codec) { return codec.gzip ? MAX_WBITS + 16 : MAX_WBITS; }

// A chunk has less than 4 GiB, so whole chunks are passed at once. zlib's lengths have
// 32 bits; they are limited here because the room for an encoded chunk may be slightly larger.
z_stream stream_of(ConstBytes from, Bytes to) {
  constexpr std::size_t most_at_once = UINT32_MAX;
  z_stream stream{};
  // The input is only read, but older versions of zlib declare it without const.
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast)
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(from.data()));
  stream.avail_in = static_cast<uInt>(std::min(from.size(), most_at_once));
  stream.next_out = reinterpret_cast<Bytef*>(to.data());
  stream.avail_out = static_cast<uInt>(std::min(to.size(), most_at_once));
  return stream;
}

}  // namespace

std::int64_t most_deflated(std::int64_t bytes) {
  constexpr std::int64_t gzip_header = 32;
  return static_cast<std::int64_t>(compressBound(static_cast<uLong>(bytes))) + gzip_header;
}

Result<std::int64_t> encode_step(const DeflateCodec& codec, const CodecStep& /*step*/,
                                 ConstBytes from, Bytes to) {
  constexpr int memory_level = 8;  // zlib's default
  z_stream stream = stream_of(from, to);
  int state = deflateInit2(&stream, codec.level, Z_DEFLATED, window_bits(codec), memory_level,
                           Z_DEFAULT_STRATEGY);
  if (state == Z_OK) state = deflate(&stream, Z_FINISH);
  const auto bytes = static_cast<std::int64_t>(stream.total_out);
  deflateEnd(&stream);
  if (state == Z_STREAM_END) return bytes;
  return Error(ErrorCode::insufficient, fmt::format("deflate failed with zlib's error {}", state));
}

Result<std::int64_t> decode_step(const DeflateCodec& codec, const CodecStep& /*step*/,
                                 ConstBytes from, Bytes to) {
  // zlib fails without room for output, although the chunk may be empty.
  std::byte nothing{};
  z_stream stream = stream_of(from, to.empty() ? Bytes(&nothing, 1) : to);
  int state = inflateInit2(&stream, window_bits(codec));
  if (state == Z_OK) state = inflate(&stream, Z_FINISH);
  const auto bytes = static_cast<std::int64_t>(stream.total_out);
  const std::string why = stream.msg == nullptr ? "it is too long or too short" : stream.msg;
  inflateEnd(&stream);
  if (state != Z_STREAM_END) return undecodable("deflate", why);
  if (bytes > static_cast<std::int64_t>(to.size())) return undecodable("deflate", "it is too long");
  return bytes;
}

#else

std::int64_t most_deflated(std::int64_t bytes) { return bytes; }

Result<std::int64_t> encode_step(const DeflateCodec& /*codec*/, const CodecStep& /*step*/,
                                 ConstBytes /*from*/, Bytes /*to*/) {
  return undecodable("deflate", "this build has no library for it");
}

Result<std::int64_t> decode_step(const DeflateCodec& /*codec*/, const CodecStep& /*step*/,
                                 ConstBytes /*from*/, Bytes /*to*/) {
  return undecodable("deflate", "this build has no library for it");
}

#endif

}  // namespace weir::storage
