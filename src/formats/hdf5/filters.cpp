#include "formats/hdf5/filters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "codecs/codec_steps.hpp"
#include "codecs/zfp_codec.hpp"
#include "stored/file_description.hpp"

namespace weir::storage {
namespace {

constexpr std::array<std::string_view, 11> known = {"shuffle", "deflate",    "zstd",       "blosc",
                                                    "blosc2",  "zfp",        "fletcher32", "lzf",
                                                    "lz4",     "bitshuffle", "szip"};

// https://github.com/HDFGroup/hdf5_plugins, RegisteredFilterPlugins
constexpr H5Z_filter_t lzf_filter = 32000;
constexpr H5Z_filter_t blosc_filter = 32001;
constexpr H5Z_filter_t lz4_filter = 32004;
constexpr H5Z_filter_t bitshuffle_filter = 32008;
constexpr H5Z_filter_t zfp_filter = 32013;
constexpr H5Z_filter_t zstd_filter = 32015;
constexpr H5Z_filter_t blosc2_filter = 32026;

using Values = std::vector<unsigned>;

// Numbers of the compressors in the filter bitshuffle, in the order of the enumeration.
constexpr std::array<unsigned, 3> bitshuffle_numbers = {0, 2, 3};

struct Filter {
  H5Z_filter_t number = 0;
  Values values;
};

unsigned as_value(std::int64_t number) { return static_cast<unsigned>(number); }

struct FilterOf {
  const ChunkForm& form;

  [[nodiscard]] std::int64_t element_bytes(std::int64_t given) const {
    return given > 0 ? given : form.type.bytes();
  }
  [[nodiscard]] std::int64_t chunk_bytes() const {
    std::int64_t bytes = form.type.bytes();
    for (const std::int64_t extent : form.extents) bytes *= extent;
    return bytes;
  }
  // Returns the plugin's values: its version and that of the format, bytes of an element and of a
  // chunk, level, shuffling, compressor. The plugin's numbers have the order of the enumerations.
  template <typename Blosc>
  [[nodiscard]] Values blosc_values(const Blosc& codec, unsigned version, unsigned format) const {
    return {version,
            format,
            as_value(element_bytes(codec.element_bytes)),
            as_value(chunk_bytes()),
            as_value(codec.level),
            static_cast<unsigned>(codec.shuffle),
            static_cast<unsigned>(codec.compressor)};
  }

  Filter operator()(const ShuffleCodec& codec) const {
    return {H5Z_FILTER_SHUFFLE, {as_value(element_bytes(codec.element_bytes))}};
  }
  Filter operator()(const DeflateCodec& codec) const {
    return {H5Z_FILTER_DEFLATE, {as_value(codec.level)}};
  }
  Filter operator()(const ZstdCodec& codec) const { return {zstd_filter, {as_value(codec.level)}}; }
  Filter operator()(const BloscCodec& codec) const {
    return {blosc_filter, blosc_values(codec, 2, 2)};
  }
  Filter operator()(const Blosc2Codec& codec) const {
    return {blosc2_filter, blosc_values(codec, 1, 5)};
  }
  Filter operator()(const ZfpCodec& codec) const {
    return {zfp_filter, zfp_filter_values(codec, form)};
  }
  Filter operator()(const Crc32cCodec& /*codec*/) const { return {}; }
  Filter operator()(const Fletcher32Codec& /*codec*/) const { return {H5Z_FILTER_FLETCHER32, {}}; }
  // The values are the versions of h5py's filter and of LibLZF, then the bytes of a chunk.
  Filter operator()(const LzfCodec& /*codec*/) const {
    return {lzf_filter, {4, 0x0105, as_value(chunk_bytes())}};
  }
  Filter operator()(const Lz4Codec& codec) const {
    return {lz4_filter, {as_value(codec.block_bytes)}};
  }
  // The values are the versions of the filter, then bytes of an element, elements of a block,
  // compressor, level.
  Filter operator()(const BitshuffleCodec& codec) const {
    return {
        bitshuffle_filter,
        {0, 4, as_value(element_bytes(codec.element_bytes)), as_value(codec.block_elements),
         bitshuffle_numbers.at(static_cast<std::size_t>(codec.compressor)), as_value(codec.level)}};
  }
  Filter operator()(const SzipCodec& codec) const {
    const SzipCodec full = complete(codec, form);
    return {H5Z_FILTER_SZIP,
            {as_value(full.options), as_value(full.pixels_per_block), as_value(full.bits_per_pixel),
             as_value(full.pixels_per_line)}};
  }
  Filter operator()(const DeltaCodec& /*codec*/) const { return {}; }
};

template <typename Blosc>
std::optional<Codec> blosc_of(const Values& values) {
  constexpr unsigned most_compressor = 5;
  constexpr unsigned most_shuffle = 2;
  constexpr unsigned most_level = 9;
  Blosc codec;
  if (values.size() > 2) codec.element_bytes = values[2];
  if (values.size() > 4) codec.level = static_cast<int>(std::min(values[4], most_level));
  if (values.size() > 5) {
    codec.shuffle = static_cast<BloscShuffle>(std::min(values[5], most_shuffle));
  }
  if (values.size() > 6) {
    if (values[6] > most_compressor) return std::nullopt;
    codec.compressor = static_cast<BloscCompressor>(values[6]);
  }
  return codec;
}

std::optional<Codec> bitshuffle_of(const Values& values) {
  if (values.size() < 3) return std::nullopt;
  BitshuffleCodec codec{.compressor = BitshuffleCompressor::none, .element_bytes = values[2]};
  if (values.size() > 3) codec.block_elements = values[3];
  if (values.size() > 4) {
    const auto* const found =
        std::find(bitshuffle_numbers.begin(), bitshuffle_numbers.end(), values[4]);
    if (found == bitshuffle_numbers.end()) return std::nullopt;
    codec.compressor = static_cast<BitshuffleCompressor>(found - bitshuffle_numbers.begin());
  }
  if (values.size() > 5) codec.level = std::clamp(static_cast<int>(values[5]), -7, 22);
  return codec;
}

// A value that does not fit into an int is invalid, and becomes -1, which is refused.
int number_of(unsigned value) { return value > unsigned{INT32_MAX} ? -1 : static_cast<int>(value); }

// Returns the codec of a filter; nothing for filters that Weir does not have.
std::optional<Codec> codec_of(const Filter& filter, const ChunkForm& form) {
  const Values& values = filter.values;
  switch (filter.number) {
    case H5Z_FILTER_DEFLATE:
      return DeflateCodec{.level = values.empty() ? 6 : static_cast<int>(std::min(values[0], 9U))};
    case H5Z_FILTER_SHUFFLE:
      return ShuffleCodec{.element_bytes = values.empty() ? 0 : std::int64_t{values[0]}};
    case H5Z_FILTER_FLETCHER32:
      return Fletcher32Codec();
    case lzf_filter:
      return LzfCodec();
    case lz4_filter:
      return Lz4Codec{.block_bytes = values.empty() ? 0 : std::int64_t{values[0]}};
    case bitshuffle_filter:
      return bitshuffle_of(values);
    case H5Z_FILTER_SZIP:
      if (values.size() < 4) return std::nullopt;
      return SzipCodec{.options = number_of(values[0]),
                       .pixels_per_block = number_of(values[1]),
                       .bits_per_pixel = number_of(values[2]),
                       .pixels_per_line = number_of(values[3])};
    case zstd_filter:
      return ZstdCodec{.level =
                           values.empty() ? 0 : std::clamp(static_cast<int>(values[0]), -7, 22)};
    case blosc_filter:
      return blosc_of<BloscCodec>(values);
    case blosc2_filter:
      return blosc_of<Blosc2Codec>(values);
    case zfp_filter: {
      auto codec = parse_zfp_filter_values(values, form);
      if (!codec) return std::nullopt;
      return codec.value();
    }
    default:
      return std::nullopt;
  }
}

}  // namespace

std::span<const std::string_view> hdf5_codecs() { return known; }

bool set_hdf5_filters(hid_t creation, const Pipeline& pipeline, const ChunkForm& form) {
  for (const Codec& codec : pipeline) {
    const Filter filter = std::visit(FilterOf{form}, codec);
    // Optional filters may be missing in the library that makes the dataset, because it does not
    // run them.
    const unsigned flag =
        filter.number == H5Z_FILTER_FLETCHER32 ? H5Z_FLAG_MANDATORY : H5Z_FLAG_OPTIONAL;
    if (H5Pset_filter(creation, filter.number, flag, filter.values.size(), filter.values.data()) <
        0) {
      return false;
    }
  }
  return true;
}

std::variant<Pipeline, std::string> read_hdf5_filters(hid_t creation, const ChunkForm& form) {
  constexpr std::size_t most_values = 64;
  Pipeline pipeline;
  const int filters = H5Pget_nfilters(creation);
  for (int i = 0; i < filters; ++i) {
    std::array<char, 64> name{};
    unsigned flags = 0;
    unsigned settings = 0;
    std::size_t count = most_values;
    Filter filter{0, Values(most_values)};
    filter.number = H5Pget_filter2(creation, static_cast<unsigned>(i), &flags, &count,
                                   filter.values.data(), name.size() - 1, name.data(), &settings);
    filter.values.resize(std::min(count, most_values));
    const auto codec = filter.number < 0 ? std::nullopt : codec_of(filter, form);
    if (!codec) {
      return fmt::format("its chunks are filtered, by {} (filter {})",
                         name.front() == '\0' ? "a filter without name" : printable(name.data()),
                         static_cast<int>(filter.number));
    }
    pipeline.push_back(*codec);
  }
  if (const Status fine = check_pipeline(pipeline, form); !fine.ok()) return fine.error().message;
  return pipeline;
}

}  // namespace weir::storage
