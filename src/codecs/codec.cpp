#include "codecs/codec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include "codecs/codec_steps.hpp"
#include "common/checked.hpp"

namespace weir::storage {
namespace {

constexpr std::size_t most_codecs = 16;
constexpr std::int64_t most_chunk_bytes = (std::int64_t{1} << 32) - 1;  // HDF5's own limit
constexpr std::array<std::string_view, 6> compressors = {"blosclz", "lz4",  "lz4hc",
                                                         "snappy",  "zlib", "zstd"};
constexpr std::array<std::string_view, 3> shuffles = {"none", "byte", "bit"};
constexpr std::string_view known_codecs =
    "shuffle, deflate, gzip, zstd, blosc, blosc2, zfp, crc32c, fletcher32, lzf, lz4, "
    "bitshuffle, szip, delta";

constexpr std::array<std::string_view, 3> bitshuffle_compressors = {"none", "lz4", "zstd"};
constexpr std::array<std::string_view, 2> szip_options = {"nn", "ec"};
// SZIP's option bits of these names, and the bits that HDF5 always sets for little-endian numbers.
constexpr std::array<int, 2> szip_numbers = {32, 4};
constexpr int szip_always = 1 + 128 + 8;

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(at);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

// The parameters of one codec, in order. Omitted parameters keep their defaults.
class Parameters {
 public:
  explicit Parameters(std::vector<std::string_view> parts) : parts_(std::move(parts)) {}

  template <typename Number>
  void number(Number& value) {
    if (next_ >= parts_.size()) return;
    const std::string_view part = parts_[next_++];
    const auto read = std::from_chars(part.data(), part.data() + part.size(), value);
    if (read.ec != std::errc() || read.ptr != part.data() + part.size()) wrong_ = true;
  }
  template <typename Choice, std::size_t count>
  void choice(const std::array<std::string_view, count>& names, Choice& value) {
    if (next_ >= parts_.size()) return;
    const auto* const found = std::find(names.begin(), names.end(), parts_[next_++]);
    if (found == names.end()) wrong_ = true;
    if (found != names.end()) value = static_cast<Choice>(found - names.begin());
  }
  // Returns whether all parameters were read and are valid.
  [[nodiscard]] bool fine() const { return !wrong_ && next_ == parts_.size(); }

 private:
  std::vector<std::string_view> parts_;
  std::size_t next_ = 1;  // after the name
  bool wrong_ = false;
};

std::optional<Codec> parse_codec(std::string_view text) {
  const auto parts = split(text, ':');
  const std::string_view name = parts.front();
  Parameters parameters(parts);
  Codec codec;
  if (name == "deflate" || name == "gzip") {
    DeflateCodec deflate{.gzip = name == "gzip"};
    parameters.number(deflate.level);
    codec = deflate;
  } else if (name == "zstd") {
    ZstdCodec zstd;
    parameters.number(zstd.level);
    codec = zstd;
  } else if (name == "blosc") {
    BloscCodec blosc;
    parameters.choice(compressors, blosc.compressor);
    parameters.number(blosc.level);
    parameters.choice(shuffles, blosc.shuffle);
    codec = blosc;
  } else if (name == "blosc2") {
    Blosc2Codec blosc;
    parameters.choice(compressors, blosc.compressor);
    parameters.number(blosc.level);
    parameters.choice(shuffles, blosc.shuffle);
    codec = blosc;
  } else if (name == "zfp" && parts.size() == 2) {
    ZfpCodec zfp;
    parameters.number(zfp.tolerance);
    codec = zfp;
  } else if (name == "crc32c") {
    codec = Crc32cCodec();
  } else if (name == "fletcher32") {
    codec = Fletcher32Codec();
  } else if (name == "lzf") {
    codec = LzfCodec();
  } else if (name == "lz4") {
    codec = Lz4Codec();
  } else if (name == "bitshuffle") {
    BitshuffleCodec bitshuffle;
    parameters.choice(bitshuffle_compressors, bitshuffle.compressor);
    codec = bitshuffle;
  } else if (name == "szip") {
    SzipCodec szip;
    std::size_t option = 0;
    parameters.choice(szip_options, option);
    parameters.number(szip.pixels_per_block);
    szip.options = szip_always + szip_numbers.at(option);
    codec = szip;
  } else if (name == "delta") {
    DeltaCodec delta;
    if (parts.size() == 2) {
      const auto type = array::ElementType::parse(parts[1]);
      if (!type || !has_delta(type.value().kind())) return std::nullopt;
      return DeltaCodec{type.value().kind()};
    }
    codec = delta;
  } else if (name != "shuffle") {
    return std::nullopt;
  }
  if (!parameters.fine()) return std::nullopt;
  return codec;
}

struct TextOf {
  std::string operator()(const ShuffleCodec& /*codec*/) const { return "shuffle"; }
  std::string operator()(const DeflateCodec& codec) const {
    return fmt::format("{}:{}", codec.gzip ? "gzip" : "deflate", codec.level);
  }
  std::string operator()(const ZstdCodec& codec) const {
    return fmt::format("zstd:{}", codec.level);
  }
  std::string operator()(const BloscCodec& codec) const { return blosc("blosc", codec); }
  std::string operator()(const Blosc2Codec& codec) const { return blosc("blosc2", codec); }
  std::string operator()(const ZfpCodec& codec) const {
    return fmt::format("zfp:{}", codec.tolerance);
  }
  std::string operator()(const Crc32cCodec& /*codec*/) const { return "crc32c"; }
  std::string operator()(const Fletcher32Codec& /*codec*/) const { return "fletcher32"; }
  std::string operator()(const LzfCodec& /*codec*/) const { return "lzf"; }
  std::string operator()(const Lz4Codec& /*codec*/) const { return "lz4"; }
  std::string operator()(const BitshuffleCodec& codec) const {
    return fmt::format("bitshuffle:{}",
                       bitshuffle_compressors.at(static_cast<std::size_t>(codec.compressor)));
  }
  std::string operator()(const SzipCodec& codec) const {
    const bool is_nn = (codec.options & szip_numbers[0]) != 0;
    return fmt::format("szip:{}:{}", szip_options.at(is_nn ? 0 : 1), codec.pixels_per_block);
  }
  std::string operator()(const DeltaCodec& codec) const {
    if (codec.stored == array::ElementKind::record) return "delta";
    return "delta:" + array::ElementType(codec.stored).name();
  }

 private:
  template <typename Blosc>
  static std::string blosc(std::string_view name, const Blosc& codec) {
    return fmt::format("{}:{}:{}:{}", name,
                       compressors.at(static_cast<std::size_t>(codec.compressor)), codec.level,
                       shuffles.at(static_cast<std::size_t>(codec.shuffle)));
  }
};

bool zfp_has(array::ElementKind kind) {
  using array::ElementKind;
  return kind == ElementKind::float32 || kind == ElementKind::float64 ||
         kind == ElementKind::int32 || kind == ElementKind::int64;
}

// Returns a description of what is wrong with the parameters, or nothing.
struct CheckParameters {
  const ChunkForm& form;

  using Problem = std::optional<std::string>;

  static Problem level(int value, int least, int most) {
    if (least <= value && value <= most) return std::nullopt;
    return fmt::format("level {}: give {} to {}", value, least, most);
  }
  static Problem element(std::int64_t bytes) {
    if (0 <= bytes && bytes <= INT32_MAX) return std::nullopt;
    return fmt::format("elements of {} bytes", bytes);
  }
  Problem operator()(const ShuffleCodec& codec) const { return element(codec.element_bytes); }
  Problem operator()(const DeflateCodec& codec) const { return level(codec.level, 0, 9); }
  Problem operator()(const ZstdCodec& codec) const { return level(codec.level, -7, 22); }
  Problem operator()(const BloscCodec& codec) const {
    if (codec.block_bytes < 0 || codec.block_bytes > INT32_MAX) return "its block size";
    if (auto problem = element(codec.element_bytes)) return problem;
    return level(codec.level, 0, 9);
  }
  Problem operator()(const Blosc2Codec& codec) const {
    if (codec.compressor == BloscCompressor::snappy) return "Blosc 2 does not have snappy";
    if (auto problem = element(codec.element_bytes)) return problem;
    return level(codec.level, 0, 9);
  }
  Problem operator()(const ZfpCodec& codec) const {
    if (!std::isfinite(codec.tolerance) || codec.tolerance < 0) {
      return "its tolerance is invalid: give a number above 0";
    }
    if (!zfp_has(form.type.kind())) {
      return "it encodes float32, float64, int32 and int64, not " + form.type.name();
    }
    int dimensions = 0;
    for (const std::int64_t extent : form.extents) dimensions += extent > 1 ? 1 : 0;
    if (dimensions > 4) return "it encodes chunks of at most 4 dimensions";
    return std::nullopt;
  }
  Problem operator()(const Crc32cCodec& /*codec*/) const { return std::nullopt; }
  Problem operator()(const Fletcher32Codec& /*codec*/) const { return std::nullopt; }
  Problem operator()(const LzfCodec& /*codec*/) const { return std::nullopt; }
  Problem operator()(const Lz4Codec& codec) const {
    if (codec.block_bytes >= 0 && codec.block_bytes <= INT32_MAX) return std::nullopt;
    return "its block size";
  }
  Problem operator()(const BitshuffleCodec& codec) const {
    constexpr std::int64_t most_elements = 1 << 20;
    constexpr int together = 8;
    const std::int64_t elements = codec.block_elements;
    if (elements < 0 || elements > most_elements || elements % together != 0) {
      return "its block size";
    }
    if (auto problem = element(codec.element_bytes)) return problem;
    return level(codec.level, -7, 22);
  }
  // Checks the limits of SZIP, because its library does not check all of them.
  Problem operator()(const SzipCodec& codec) const {
    const SzipCodec full = complete(codec, form);
    const int pixels = full.pixels_per_block;
    if (pixels < 2 || pixels > 32 || pixels % 2 != 0)
      return "its number of pixels in a block is invalid: give an even number from 2 to 32";
    const int bits = full.bits_per_pixel;
    if (bits < 1 || (bits > 24 && bits != 32 && bits != 64)) {
      return fmt::format("it does not encode numbers of {} bits", bits);
    }
    if (full.pixels_per_line < pixels || full.pixels_per_line > 4096) return "pixels in a line";
    if (full.options < 0 || full.options > 255) return "its options";
    return std::nullopt;
  }
  Problem operator()(const DeltaCodec& codec) const {
    const auto is_float = [](array::ElementKind kind) {
      return kind == array::ElementKind::float32 || kind == array::ElementKind::float64;
    };
    const array::ElementKind stored = codec.stored_kind(form);
    const bool fine = has_delta(form.type.kind()) && has_delta(stored) &&
                      is_float(form.type.kind()) == is_float(stored);
    if (fine) return std::nullopt;
    return fmt::format("it encodes single integers or real numbers, not {} of {}",
                       array::ElementType(stored).name(), form.type.name());
  }
};

}  // namespace

std::string_view codec_name(const Codec& codec) {
  constexpr std::array<std::string_view, std::variant_size_v<Codec>> names = {
      "shuffle",    "deflate", "zstd", "blosc",      "blosc2", "zfp",  "crc32c",
      "fletcher32", "lzf",     "lz4",  "bitshuffle", "szip",   "delta"};
  const auto* const deflate = std::get_if<DeflateCodec>(&codec);
  return deflate != nullptr && deflate->gzip ? "gzip" : names.at(codec.index());
}

Result<Pipeline> parse_pipeline(std::string_view text) {
  Pipeline pipeline;
  if (text.empty()) return pipeline;
  for (const std::string_view part : split(text, ',')) {
    const auto codec = parse_codec(part);
    if (!codec) {
      return invalid_argument(
          fmt::format("\"{}\" is not a codec: give one of {}, with parameters after colons, such "
                      "as zstd:3 or zfp:0.001, and commas between several",
                      part.substr(0, 64), known_codecs));
    }
    pipeline.push_back(*codec);
  }
  return pipeline;
}

std::string pipeline_text(const Pipeline& pipeline) {
  std::string text;
  for (const Codec& codec : pipeline) {
    if (!text.empty()) text += ',';
    text += std::visit(TextOf(), codec);
  }
  return text;
}

Status check_pipeline(const Pipeline& pipeline, const ChunkForm& form) {
  if (pipeline.size() > most_codecs) {
    return Error(ErrorCode::unsupported,
                 fmt::format("{} codecs are given: give at most {}", pipeline.size(), most_codecs));
  }
  std::optional<std::int64_t> bytes = form.type.bytes();
  for (const std::int64_t extent : form.extents) {
    if (bytes) bytes = checked_multiply(*bytes, extent);
  }
  if (!bytes || *bytes > most_chunk_bytes) {
    return Error(ErrorCode::unsupported,
                 "an encoded chunk must have less than 4 GiB: give smaller chunks");
  }
  for (const Codec& codec : pipeline) {
    if (!has_library(codec)) {
      return Error(ErrorCode::unsupported,
                   fmt::format("this build has no library for the codec {}", codec_name(codec)));
    }
    if (const auto problem = std::visit(CheckParameters{form}, codec)) {
      return Error(ErrorCode::unsupported,
                   fmt::format("the codec {}: {}", codec_name(codec), *problem));
    }
    const bool of_numbers =
        std::holds_alternative<ZfpCodec>(codec) || std::holds_alternative<DeltaCodec>(codec);
    if (of_numbers && &codec != pipeline.data()) {
      return Error(ErrorCode::unsupported,
                   fmt::format("the codec {} must be the first one, because it encodes numbers",
                               codec_name(codec)));
    }
  }
  return {};
}

}  // namespace weir::storage
