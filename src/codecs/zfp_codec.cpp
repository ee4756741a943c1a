// zfp's decoder does not check where its input ends, but the number of bytes that one block reads
// is bounded. The decoder therefore gets a copy of the input that is followed by so many zeros that
// no block can read beyond them.
#include "codecs/zfp_codec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>

#include "codecs/codec_steps.hpp"
#include "common/numbers_in_bytes.hpp"

#ifdef WEIR_WITH_ZFP
#include <zfp.h>
#endif

namespace weir::storage {

#ifdef WEIR_WITH_ZFP

namespace {

constexpr std::size_t word_bytes = 8;  // bytes of a word of zfp's streams
constexpr int most_dimensions = 4;

// A bit stream with zfp's state and field.
class Zfp {
 public:
  Zfp(void* buffer, std::size_t bytes)
      : bits_(stream_open(buffer, bytes), stream_close),
        stream_(zfp_stream_open(bits_.get()), zfp_stream_close),
        field_(zfp_field_alloc(), zfp_field_free) {}

  [[nodiscard]] zfp_stream* stream() const { return stream_.get(); }
  [[nodiscard]] zfp_field* field() const { return field_.get(); }
  [[nodiscard]] bitstream* bits() const { return bits_.get(); }
  [[nodiscard]] bool ok() const { return bits_ && stream_ && field_; }

 private:
  std::unique_ptr<bitstream, void (*)(bitstream*)> bits_;
  std::unique_ptr<zfp_stream, void (*)(zfp_stream*)> stream_;
  std::unique_ptr<zfp_field, void (*)(zfp_field*)> field_;
};

zfp_type type_of(const ChunkForm& form) {
  switch (form.type.kind()) {
    case array::ElementKind::float32:
      return zfp_type_float;
    case array::ElementKind::float64:
      return zfp_type_double;
    case array::ElementKind::int32:
      return zfp_type_int32;
    default:
      return zfp_type_int64;
  }
}

// Returns the extents of the zfp field, from the fastest dimension on: all of them, or only those
// greater than 1.
std::vector<std::size_t> extents_of(const ChunkForm& form, bool all) {
  std::vector<std::size_t> extents;
  for (int d = form.extents.size() - 1; d >= 0; --d) {
    if (all || form.extents[d] > 1) extents.push_back(static_cast<std::size_t>(form.extents[d]));
  }
  if (extents.empty()) extents.push_back(1);
  return extents;
}

void describe(zfp_field* field, const ChunkForm& form, bool all) {
  const auto extents = extents_of(form, all && form.extents.size() <= most_dimensions);
  zfp_field_set_type(field, type_of(form));
  switch (extents.size()) {
    case 1:
      return zfp_field_set_size_1d(field, extents[0]);
    case 2:
      return zfp_field_set_size_2d(field, extents[0], extents[1]);
    case 3:
      return zfp_field_set_size_3d(field, extents[0], extents[1], extents[2]);
    default:
      return zfp_field_set_size_4d(field, extents[0], extents[1], extents[2], extents[3]);
  }
}

// Returns whether a header that was read describes chunks of this form.
bool is_of(const zfp_field* field, const ChunkForm& form) {
  if (zfp_field_type(field) != type_of(form)) return false;
  std::vector<std::size_t> counting;
  for (const std::size_t extent : {field->nx, field->ny, field->nz, field->nw}) {
    if (extent > 1) counting.push_back(extent);
  }
  if (counting.empty()) counting.push_back(1);
  return counting == extents_of(form, false);
}

void set_mode(zfp_stream* stream, const ZfpCodec& codec, bool lossless) {
  if (codec.mode != 0) {
    zfp_stream_set_mode(stream, codec.mode);
  } else if (lossless || codec.tolerance == 0) {
    zfp_stream_set_reversible(stream);
  } else {
    zfp_stream_set_accuracy(stream, codec.tolerance);
  }
}

Error no_memory() { return Error(ErrorCode::insufficient, "not enough memory for zfp"); }

std::size_t chunk_bytes(const ChunkForm& form) {
  std::int64_t bytes = form.type.bytes();
  for (const std::int64_t extent : form.extents) bytes *= extent;
  return static_cast<std::size_t>(bytes);
}

Result<std::int64_t> encode(const ZfpCodec& codec, const ChunkForm& form, ConstBytes from, Bytes to,
                            bool lossless) {
  const Zfp zfp(to.data(), to.size() / word_bytes * word_bytes);
  if (!zfp.ok()) return no_memory();
  describe(zfp.field(), form, codec.header);
  // Encoding only reads the data.
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast)
  zfp_field_set_pointer(zfp.field(), const_cast<std::byte*>(from.data()));
  set_mode(zfp.stream(), codec, lossless);
  if (codec.header && zfp_write_header(zfp.stream(), zfp.field(), ZFP_HEADER_FULL) == 0) {
    return undecodable("zfp", "its header cannot describe such chunks");
  }
  const std::size_t bytes = zfp_compress(zfp.stream(), zfp.field());
  if (bytes == 0) return undecodable("zfp", "zfp could not encode it");
  return static_cast<std::int64_t>(bytes);
}

template <typename Number>
bool keeps_to(double tolerance, ConstBytes a, ConstBytes b) {
  using Difference = std::conditional_t<std::is_integral_v<Number>, long double, double>;
  bool keeps = true;
  for (std::size_t at = 0; at < a.size(); at += sizeof(Number)) {
    const auto was = number_at<Number>(a, at);
    const auto is = number_at<Number>(b, at);
    // This comparison is false for values that are not finite. A chunk with such values keeps to
    // the tolerance only if all its bits are equal.
    keeps &= std::abs(static_cast<Difference>(was) - static_cast<Difference>(is)) <=
             static_cast<Difference>(tolerance);
  }
  return keeps;
}

bool keeps_to(const ZfpCodec& codec, const ChunkForm& form, ConstBytes was, ConstBytes is) {
  if (std::memcmp(was.data(), is.data(), was.size()) == 0) return true;
  switch (form.type.kind()) {
    case array::ElementKind::float32:
      return keeps_to<float>(codec.tolerance, was, is);
    case array::ElementKind::float64:
      return keeps_to<double>(codec.tolerance, was, is);
    case array::ElementKind::int32:
      return keeps_to<std::int32_t>(codec.tolerance, was, is);
    default:
      return keeps_to<std::int64_t>(codec.tolerance, was, is);
  }
}

}  // namespace

std::int64_t most_by_zfp(const ChunkForm& form) {
  const Zfp zfp(nullptr, 0);
  if (!zfp.ok()) return static_cast<std::int64_t>(chunk_bytes(form));
  constexpr std::size_t more = 64;  // for whole words and the blocks that end in them
  std::size_t most = 0;
  describe(zfp.field(), form, false);
  for (const bool lossless : {true, false}) {
    if (lossless) zfp_stream_set_reversible(zfp.stream());
    if (!lossless) zfp_stream_set_accuracy(zfp.stream(), 0);
    most = std::max(most, zfp_stream_maximum_size(zfp.stream(), zfp.field()));
  }
  return static_cast<std::int64_t>(most / word_bytes * word_bytes + more);
}

Result<std::int64_t> encode_step(const ZfpCodec& codec, const CodecStep& step, ConstBytes from,
                                 Bytes to) {
  if (from.empty()) return std::int64_t{0};
  // The second iteration is lossless, for chunks that exceed the tolerance.
  for (const bool lossless : {false, true}) {
    auto bytes = encode(codec, step.form, from, to, lossless);
    if (!bytes) return bytes;
    step.context.zfp_decoded.resize(from.size());
    ZfpCodec decoder = codec;
    if (lossless) decoder.tolerance = 0;
    const auto decoded = decode_step(
        decoder, step, to.first(static_cast<std::size_t>(bytes.value())), step.context.zfp_decoded);
    if (decoded && keeps_to(decoder, step.form, from, step.context.zfp_decoded)) return bytes;
    if (!codec.header) return std::int64_t{-1};
  }
  return undecodable("zfp", "even its lossless mode does not restore the data");
}

Result<std::int64_t> decode_step(const ZfpCodec& codec, const CodecStep& step, ConstBytes from,
                                 Bytes to) {
  const std::size_t bytes = chunk_bytes(step.form);
  if (to.size() < bytes) return undecodable("zfp", "it is too long");
  if (bytes == 0) return std::int64_t{0};
  constexpr std::size_t most_header = 32;
  auto& padded = step.context.zfp_padded;
  const auto room = [&](std::size_t size) {
    padded.assign(
        (std::max(size, from.size()) + most_header) / word_bytes * word_bytes + word_bytes,
        std::byte{0});
    std::copy(from.begin(), from.end(), padded.begin());
  };
  room(0);
  {
    const Zfp header(padded.data(), padded.size());
    if (!header.ok()) return no_memory();
    if (codec.header) {
      if (zfp_read_header(header.stream(), header.field(), ZFP_HEADER_FULL) == 0) {
        return undecodable("zfp", "it has no valid header");
      }
      if (!is_of(header.field(), step.form)) {
        return undecodable("zfp", "its header describes another array");
      }
    } else {
      describe(header.field(), step.form, false);
      set_mode(header.stream(), codec, false);
    }
    const std::size_t most = zfp_stream_maximum_size(header.stream(), header.field());
    constexpr std::size_t little = 65536;
    if (most > 4 * bytes + little) return undecodable("zfp", "its mode would need too much memory");
    room(most);
  }
  const Zfp zfp(padded.data(), padded.size());
  if (!zfp.ok()) return no_memory();
  if (codec.header) {
    if (zfp_read_header(zfp.stream(), zfp.field(), ZFP_HEADER_FULL) == 0) {
      return undecodable("zfp", "it has no valid header");
    }
  } else {
    describe(zfp.field(), step.form, false);
    set_mode(zfp.stream(), codec, false);
  }
  zfp_field_set_pointer(zfp.field(), to.data());
  const std::size_t read = zfp_decompress(zfp.stream(), zfp.field());
  // zfp libraries differ in the size of the words in which their streams end, up to 8 bytes. There
  // is no better check for a truncated stream, because zeros can be decoded, too.
  const std::size_t word = stream_alignment() / 8;
  if (read == 0 || read > (from.size() + word - 1) / word * word) {
    return undecodable("zfp", "it ends too early");
  }
  if (read + word_bytes <= from.size()) return undecodable("zfp", "it is too long");
  return static_cast<std::int64_t>(bytes);
}

std::vector<std::uint32_t> zfp_filter_values(const ZfpCodec& codec, const ChunkForm& form) {
  constexpr std::uint32_t filter_version = 0x0110;  // version 1.1.0 of the registered filter
  constexpr std::size_t word_bits = 32;
  std::vector<std::uint64_t> buffer(ZFP_HEADER_MAX_BITS / 64 + 2);
  const Zfp zfp(buffer.data(), buffer.size() * sizeof(std::uint64_t));
  describe(zfp.field(), form, false);
  set_mode(zfp.stream(), codec, false);
  const std::size_t bits = zfp_write_header(zfp.stream(), zfp.field(), ZFP_HEADER_FULL);
  zfp_stream_flush(zfp.stream());
  std::vector<std::uint32_t> values(1 + (bits + word_bits - 1) / word_bits);
  values[0] = static_cast<std::uint32_t>(ZFP_VERSION) << 16 |
              static_cast<std::uint32_t>(ZFP_CODEC) << 12 | filter_version;
  std::memcpy(values.data() + 1, buffer.data(), (values.size() - 1) * sizeof(std::uint32_t));
  return values;
}

Result<ZfpCodec> parse_zfp_filter_values(std::span<const std::uint32_t> values,
                                         const ChunkForm& form) {
  std::vector<std::uint64_t> buffer(ZFP_HEADER_MAX_BITS / 64 + 2);
  const std::size_t given = values.empty() ? 0 : values.size_bytes() - sizeof(std::uint32_t);
  const std::size_t most = buffer.size() * sizeof(std::uint64_t);
  if (given > 0) std::memcpy(buffer.data(), values.data() + 1, std::min(given, most));
  const Zfp zfp(buffer.data(), most);
  if (!zfp.ok()) return no_memory();
  if (zfp_read_header(zfp.stream(), zfp.field(), ZFP_HEADER_FULL) == 0) {
    return undecodable("zfp", "this build's library cannot read its header");
  }
  if (!is_of(zfp.field(), form)) return undecodable("zfp", "its header describes another array");
  ZfpCodec codec;
  codec.mode = zfp_stream_mode(zfp.stream());
  if (zfp_stream_compression_mode(zfp.stream()) == zfp_mode_fixed_accuracy) {
    codec.tolerance = zfp_stream_accuracy(zfp.stream());
  }
  return codec;
}

#else

std::int64_t most_by_zfp(const ChunkForm& /*form*/) { return 0; }

Result<std::int64_t> encode_step(const ZfpCodec& /*codec*/, const CodecStep& /*step*/,
                                 ConstBytes /*from*/, Bytes /*to*/) {
  return undecodable("zfp", "this build has no library for it");
}

Result<std::int64_t> decode_step(const ZfpCodec& /*codec*/, const CodecStep& /*step*/,
                                 ConstBytes /*from*/, Bytes /*to*/) {
  return undecodable("zfp", "this build has no library for it");
}

std::vector<std::uint32_t> zfp_filter_values(const ZfpCodec& /*codec*/, const ChunkForm& /*form*/) {
  return {};
}

Result<ZfpCodec> parse_zfp_filter_values(std::span<const std::uint32_t> /*values*/,
                                         const ChunkForm& /*form*/) {
  return undecodable("zfp", "this build has no library for it");
}

#endif

}  // namespace weir::storage
