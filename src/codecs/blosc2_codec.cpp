#include <fmt/format.h>

#include <array>
#include <cstring>
#include <memory>

#include "codecs/codec_steps.hpp"

#ifdef WEIR_WITH_BLOSC2
#include <b2nd.h>
#include <blosc2.h>
#endif

namespace weir::storage {

#ifdef WEIR_WITH_BLOSC2

namespace {

struct FreeFrame {
  void operator()(blosc2_schunk* frame) const { blosc2_schunk_free(frame); }
};
using Frame = std::unique_ptr<blosc2_schunk, FreeFrame>;

// Initializes the library, which is required once.
void begin_with_library() {
  static const bool begun = [] {
    blosc2_init();
    return true;
  }();
  static_cast<void>(begun);
}

Error failed(std::int64_t code) {
  return Error(ErrorCode::insufficient, fmt::format("blosc2 failed with its error {}", code));
}

std::uint8_t compressor_of(BloscCompressor compressor) {
  constexpr std::array<std::uint8_t, 6> codes = {BLOSC_BLOSCLZ, BLOSC_LZ4,  BLOSC_LZ4HC,
                                                 BLOSC_BLOSCLZ, BLOSC_ZLIB, BLOSC_ZSTD};
  return codes.at(static_cast<std::size_t>(compressor));
}

// Decodes a frame of a multidimensional array, whose blocks are boxes.
Result<std::int64_t> decode_boxes(Frame frame, Bytes to) {
  b2nd_array_t* array = nullptr;
  if (b2nd_from_schunk(frame.get(), &array) < 0 || array == nullptr) {
    return undecodable("blosc2", "its record of the dimensions is damaged");
  }
  static_cast<void>(frame.release());  // the array owns the frame now
  const std::unique_ptr<b2nd_array_t, int (*)(b2nd_array_t*)> owner(array, b2nd_free);
  const std::int64_t bytes = array->nitems * array->sc->typesize;
  if (array->nitems < 0 || bytes > static_cast<std::int64_t>(to.size())) {
    return undecodable("blosc2", "it is too long");
  }
  if (b2nd_to_cbuffer(array, to.data(), static_cast<std::int64_t>(to.size())) < 0) {
    return undecodable("blosc2", "it is damaged");
  }
  return bytes;
}

}  // namespace

Result<std::int64_t> encode_step(const Blosc2Codec& codec, const CodecStep& step, ConstBytes from,
                                 Bytes to) {
  begin_with_library();
  if (from.size() > BLOSC2_MAX_BUFFERSIZE) {
    return invalid_argument(
        fmt::format("a chunk of {} bytes is too long for blosc2; give smaller "
                    "chunks",
                    from.size()));
  }
  const std::int64_t element =
      codec.element_bytes > 0 ? codec.element_bytes : step.form.type.bytes();
  blosc2_cparams encoding = BLOSC2_CPARAMS_DEFAULTS;
  blosc2_dparams decoding = BLOSC2_DPARAMS_DEFAULTS;
  encoding.typesize = element > BLOSC_MAX_TYPESIZE ? 1 : static_cast<std::int32_t>(element);
  encoding.clevel = static_cast<std::uint8_t>(codec.level);
  encoding.compcode = compressor_of(codec.compressor);
  encoding.nthreads = 1;
  encoding.filters[BLOSC2_MAX_FILTERS - 1] = static_cast<std::uint8_t>(codec.shuffle);
  blosc2_storage storage{};
  storage.contiguous = true;
  storage.cparams = &encoding;
  storage.dparams = &decoding;
  const Frame frame(blosc2_schunk_new(&storage));
  if (!frame) return failed(0);
  const std::int64_t chunks =
      blosc2_schunk_append_buffer(frame.get(), from.data(), static_cast<std::int32_t>(from.size()));
  if (chunks < 0) return failed(chunks);
  std::uint8_t* bytes = nullptr;
  bool to_free = false;
  const std::int64_t count = blosc2_schunk_to_buffer(frame.get(), &bytes, &to_free);
  if (count < 0) return failed(count);
  const std::unique_ptr<std::uint8_t, void (*)(void*)> owner(to_free ? bytes : nullptr, std::free);
  if (count > static_cast<std::int64_t>(to.size())) return failed(count);
  std::memcpy(to.data(), bytes, static_cast<std::size_t>(count));
  return count;
}

Result<std::int64_t> decode_step(const Blosc2Codec& /*codec*/, const CodecStep& /*step*/,
                                 ConstBytes from, Bytes to) {
  begin_with_library();
  auto* const bytes = reinterpret_cast<std::uint8_t*>(const_cast<std::byte*>(from.data()));
  Frame frame(blosc2_schunk_from_buffer(bytes, static_cast<std::int64_t>(from.size()), false));
  if (!frame) return undecodable("blosc2", "it is not a frame");
  if (frame->nchunks != 1 || frame->typesize < 1) {
    return undecodable("blosc2", "it is not a frame of one chunk");
  }
  if (blosc2_meta_exists(frame.get(), "b2nd") >= 0 ||
      blosc2_meta_exists(frame.get(), "caterva") >= 0) {
    return decode_boxes(std::move(frame), to);
  }
  if (frame->nbytes < 0 || frame->nbytes > static_cast<std::int64_t>(to.size())) {
    return undecodable("blosc2", "it is too long");
  }
  const int decoded = blosc2_schunk_decompress_chunk(frame.get(), 0, to.data(),
                                                     static_cast<std::int32_t>(frame->nbytes));
  if (decoded < 0) return undecodable("blosc2", "it is damaged");
  return decoded;
}

#else

Result<std::int64_t> encode_step(const Blosc2Codec& /*codec*/, const CodecStep& /*step*/,
                                 ConstBytes /*from*/, Bytes /*to*/) {
  return undecodable("blosc2", "this build has no library for it");
}

Result<std::int64_t> decode_step(const Blosc2Codec& /*codec*/, const CodecStep& /*step*/,
                                 ConstBytes /*from*/, Bytes /*to*/) {
  return undecodable("blosc2", "this build has no library for it");
}

#endif

}  // namespace weir::storage
