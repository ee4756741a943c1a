#include "formats/zarr/codec_json.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace weir::storage {
namespace {

constexpr std::array<std::string_view, 8> known = {"shuffle", "deflate", "gzip",   "zstd",
                                                   "blosc",   "zfp",     "crc32c", "delta"};
constexpr std::array<std::string_view, 6> compressors = {"blosclz", "lz4",  "lz4hc",
                                                         "snappy",  "zlib", "zstd"};
// numcodecs' codec with zlib's header around the deflated bytes; gzip has another header.
constexpr const char* zlib_name = "numcodecs.zlib";
constexpr std::array<std::string_view, 3> shuffles = {"noshuffle", "shuffle", "bitshuffle"};

struct JsonOf {
  std::int64_t type_bytes;

  Json operator()(const ShuffleCodec& codec) const {
    return named("numcodecs.shuffle",
                 {{"elementsize", codec.element_bytes > 0 ? codec.element_bytes : type_bytes}});
  }
  Json operator()(const DeflateCodec& codec) const {
    return named(codec.gzip ? "gzip" : zlib_name, {{"level", codec.level}});
  }
  Json operator()(const ZstdCodec& codec) const {
    return named("zstd", {{"level", codec.level}, {"checksum", codec.checksum}});
  }
  Json operator()(const BloscCodec& codec) const {
    return named("blosc", {{"cname", compressors.at(static_cast<std::size_t>(codec.compressor))},
                           {"clevel", codec.level},
                           {"shuffle", shuffles.at(static_cast<std::size_t>(codec.shuffle))},
                           {"typesize", codec.element_bytes > 0 ? codec.element_bytes : type_bytes},
                           {"blocksize", codec.block_bytes}});
  }
  Json operator()(const Blosc2Codec& /*codec*/) const { return nullptr; }
  Json operator()(const ZfpCodec& codec) const {
    constexpr int fixed_accuracy = 4;  // zfp's numbers for its modes
    constexpr int reversible = 5;
    return named("numcodecs.zfpy", {{"mode", codec.tolerance > 0 ? fixed_accuracy : reversible},
                                    {"tolerance", codec.tolerance > 0 ? codec.tolerance : -1.0},
                                    {"rate", -1},
                                    {"precision", -1}});
  }
  Json operator()(const Crc32cCodec& /*codec*/) const { return {{"name", "crc32c"}}; }
  Json operator()(const Fletcher32Codec& /*codec*/) const { return nullptr; }
  Json operator()(const LzfCodec& /*codec*/) const { return nullptr; }
  Json operator()(const Lz4Codec& /*codec*/) const { return nullptr; }
  Json operator()(const BitshuffleCodec& /*codec*/) const { return nullptr; }
  Json operator()(const SzipCodec& /*codec*/) const { return nullptr; }
  Json operator()(const DeltaCodec& /*codec*/) const { return nullptr; }
};

// Reads members of a configuration. Records whether one is invalid; missing members keep their
// default.
class Configuration {
 public:
  explicit Configuration(const Json& json) : json_(json) {}

  template <typename Number>
  void number(const char* name, Number& value) {
    const auto found = json_.find(name);
    if (found == json_.end()) return;
    constexpr std::int64_t largest_parameter = 1 << 30;
    fine = fine && found->is_number_integer() && found->get<double>() <= largest_parameter &&
           found->get<double>() >= -largest_parameter;
    if (fine) value = found->get<Number>();
  }
  template <typename Choice, std::size_t count>
  void choice(const char* name, const std::array<std::string_view, count>& names, Choice& value) {
    const auto found = json_.find(name);
    if (found == json_.end()) return;
    const std::string text = found->is_string() ? found->get<std::string>() : std::string();
    const auto* const which = std::find(names.begin(), names.end(), text);
    fine = fine && which != names.end();
    if (fine) value = static_cast<Choice>(which - names.begin());
  }

  bool fine = true;

 private:
  const Json& json_;
};

}  // namespace

Json named(const char* name, Json configuration) {
  return {{"name", name}, {"configuration", std::move(configuration)}};
}

// The last codec is only for arrays that other programs made.
std::span<const std::string_view> zarr_codecs_read() { return known; }
std::span<const std::string_view> zarr_codecs() { return std::span(known).first(known.size() - 1); }

std::optional<array::ElementType> numpy_element_type(std::string_view name) {
  constexpr std::array<std::pair<char, std::string_view>, 3> kinds = {
      {{'i', "int"}, {'u', "uint"}, {'f', "float"}}};
  if (name.size() != 3 || std::string_view("<|=").find(name[0]) == std::string_view::npos) {
    return std::nullopt;
  }
  for (const auto& [letter, kind] : kinds) {
    if (name[1] != letter || name[2] < '1' || name[2] > '8') continue;
    const auto type =
        array::ElementType::parse(std::string(kind) + std::to_string(8 * (name[2] - '0')));
    if (type) return type.value();
  }
  return std::nullopt;
}

Json zarr_codec(const Codec& codec, const array::ElementType& type) {
  return std::visit(JsonOf{type.bytes()}, codec);
}

std::optional<Codec> parse_zarr_codec(const std::string& name, const Json& configuration) {
  if (!configuration.is_object()) return std::nullopt;
  Configuration from(configuration);
  Codec codec;
  if (name == "zstd") {
    ZstdCodec zstd;
    from.number("level", zstd.level);
    // Levels that Weir's library may not support are clamped. The level does not affect reading.
    zstd.level = std::clamp(zstd.level, -7, 22);
    const auto checksum = configuration.find("checksum");
    zstd.checksum = checksum != configuration.end() && *checksum == true;
    codec = zstd;
  } else if (name == "blosc") {
    BloscCodec blosc;
    from.choice("cname", compressors, blosc.compressor);
    from.number("clevel", blosc.level);
    from.choice("shuffle", shuffles, blosc.shuffle);
    from.number("typesize", blosc.element_bytes);
    from.number("blocksize", blosc.block_bytes);
    codec = blosc;
  } else if (name == "gzip" || name == zlib_name) {
    DeflateCodec deflate{.gzip = name == "gzip"};
    from.number("level", deflate.level);
    // numcodecs' -1 stands for zlib's own choice.
    if (deflate.level == -1) deflate.level = DeflateCodec().level;
    codec = deflate;
  } else if (name == "crc32c") {
    codec = Crc32cCodec();
  } else if (name == "numcodecs.shuffle") {
    ShuffleCodec shuffle{.element_bytes = 4};  // numcodecs' default
    from.number("elementsize", shuffle.element_bytes);
    codec = shuffle;
  } else if (name == "numcodecs.zfpy" || name == "zfpy") {
    ZfpCodec zfp{.header = true};
    const auto tolerance = configuration.find("tolerance");
    if (tolerance != configuration.end() && tolerance->is_number()) {
      zfp.tolerance = std::max(0.0, tolerance->get<double>());
      from.fine = from.fine && std::isfinite(zfp.tolerance);
    }
    codec = zfp;
  } else {
    return std::nullopt;
  }
  return from.fine ? std::optional(codec) : std::nullopt;
}

}  // namespace weir::storage
