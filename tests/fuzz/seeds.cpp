#include "seeds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

#include "codecs/chunk_coder.hpp"
#include "formats/additions.hpp"
#include "formats/format.hpp"
#include "formats/raw/raw_document.hpp"
#include "formats/test_description.hpp"
#include "formats/zarr/document.hpp"

namespace weir::fuzz {
namespace {

Bytes bytes_of_text(const std::string& text) {
  Bytes bytes(text.size());
  std::transform(text.begin(), text.end(), bytes.begin(),
                 [](char one) { return static_cast<std::byte>(one); });
  return bytes;
}

Bytes content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return bytes_of_text({std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()});
}

// The path of a file of this format with one array of each kind; empty where it cannot be made.
std::string example_file(std::string_view name, const std::string& folder) {
  const auto format = storage::find_format(name);
  if (!format) return {};
  std::string path = folder + "/" + std::string(name);
  const auto room = format.value()->lay_out(storage::all_it_can(format.value()->abilities()), path);
  if (!room) return {};
  const Status made = commit(path, room.value().update, storage::StepDurability::none);
  return made.ok() ? path : std::string();
}

std::vector<Bytes> examples(std::initializer_list<std::string_view> formats,
                            const std::string& folder) {
  std::vector<Bytes> seeds;
  for (const std::string_view name : formats) {
    if (const auto path = example_file(name, folder); !path.empty()) {
      seeds.push_back(content(path));
    }
  }
  return seeds;
}

}  // namespace

storage::ArrayDescription shards_description() {
  return {.name = "shards",
          .shape = storage::shape_of({4, 6}),
          .type = array::ElementType(array::ElementKind::int32),
          .chunk_extents = array::Indices{2, 3},
          .shard_extents = array::Indices{4, 3}};
}

std::span<const std::string_view> codec_pipelines() {
  static constexpr std::array<std::string_view, 19> all{"shuffle",
                                                        "deflate",
                                                        "gzip",
                                                        "zstd",
                                                        "blosc",
                                                        "blosc:zstd:1:bit",
                                                        "blosc2",
                                                        "zfp:0.5",
                                                        "crc32c",
                                                        "fletcher32",
                                                        "shuffle,deflate,fletcher32",
                                                        "zfp:0.5,zstd,crc32c",
                                                        "shuffle,lzf",
                                                        "lz4",
                                                        "bitshuffle",
                                                        "bitshuffle:none",
                                                        "bitshuffle:zstd",
                                                        "szip",
                                                        "delta:float64"};
  return all;
}

storage::ChunkForm codec_chunk() {
  return {array::ElementType(array::ElementKind::float32), array::Indices{8, 32}};
}

std::vector<Bytes> cdf_seeds(const std::string& folder) {
  return examples({"cdf1", "cdf2", "cdf5"}, folder);
}

std::vector<Bytes> hdf5_seeds(const std::string& folder) { return examples({"hdf5"}, folder); }

std::vector<Bytes> codec_seeds(const std::string& /*folder*/) {
  std::vector<Bytes> seeds;
  for (std::size_t i = 0; i < codec_pipelines().size(); ++i) {
    const auto pipeline = storage::parse_pipeline(codec_pipelines()[i]);
    if (!pipeline) continue;
    auto coder = storage::ChunkCoder::create(pipeline.value(), codec_chunk());
    if (!coder) continue;
    Bytes chunk(static_cast<std::size_t>(coder.value().chunk_bytes()));
    for (std::size_t k = 0; k < chunk.size(); k += 4) chunk[k] = static_cast<std::byte>(k / 7);
    const auto encoded = coder.value().encode(chunk);
    if (!encoded) continue;
    Bytes seed{static_cast<std::byte>(i)};
    seed.insert(seed.end(), encoded.value().bytes.begin(), encoded.value().bytes.end());
    seeds.push_back(std::move(seed));
  }
  return seeds;
}

// Documents of each version: of one array, of several files, and without and with arrays that were
// added twice, each time behind a step.
std::vector<Bytes> raw_file_seeds(const std::string& folder) {
  const std::string path = example_file("raw", folder);
  const std::string first =
      R"({"format": "weir-raw", "version": 1, "shape": [4, 6], "type": "float64",
          "order": "row-major", "byte_order": "little", "offset": 8, "layout": "shared",
          "files": 1})";
  const std::string second =
      R"({"format": "weir-raw", "version": 2, "shape": [4, 6], "type": "float64",
          "order": "row-major", "byte_order": "little", "offset": 0, "chunk_shape": [2, 3],
          "chunk_reason": "given", "layout": "per-aggregator", "files": 2,
          "turn": "0000000000000003", "directories": ["one", "/two"]})";
  std::vector<Bytes> seeds = {bytes_of_text(first), bytes_of_text(second)};
  for (const std::string& one : {first, second}) {
    const auto file = storage::parse_raw_file(one, "array.json");
    if (file) seeds.push_back(bytes_of_text(storage::raw_file_json(file.value()).value()));
  }
  seeds.push_back(content(path + ".json"));
  const auto format = storage::find_format("raw");
  if (!format) return seeds;
  for (std::int64_t steps = 3; steps <= 4; ++steps) {
    const auto room = format.value()->make_room(path, steps);
    if (!room || !commit(path, room.value().update, storage::StepDurability::none).ok()) break;
    const std::string number = std::to_string(steps);
    const array::ElementType type(array::ElementKind::float32);
    storage::Additions added{
        .arrays = {{.name = "later" + number,
                    .shape = storage::shape_of({steps, 5}),
                    .type = type,
                    .grows = true,
                    .fill = Bytes{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}}},
                   {.name = "fixed" + number, .shape = storage::shape_of({3}), .type = type}},
        .attributes = {}};
    if (!storage::add_to_file(path, std::move(added), storage::StepDurability::none).ok()) break;
    seeds.push_back(content(path + ".json"));
  }
  return seeds;
}

// Three references to a collection of two texts, and the chunk of Zarr that has these.
std::vector<Bytes> texts_seeds(const std::string& /*folder*/) {
  const std::string zeros(8, '\0');
  const auto number = [](std::uint64_t value, int bytes) {
    std::string text;
    for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i) & 0xFFU);
    return text;
  };
  const auto reference = [&](std::uint32_t bytes, std::uint32_t object) {
    return number(bytes, 4) + number(48, 8) + number(object, 4);
  };
  const auto object = [&](std::uint16_t which, const std::string& text) {
    return number(which, 8) + number(text.size(), 8) + text + zeros.substr(text.size());
  };
  const std::string heap = reference(3, 1) + reference(2, 2) + reference(3, 1) + "GCOL" +
                           number(1, 4) + number(80, 8) + object(2, "ab") + object(1, "cde") +
                           number(0, 8) + number(16, 8);
  const std::string chunk = number(2, 4) + number(3, 4) + "abc" + number(0, 4);
  return {bytes_of_text(heap), bytes_of_text(chunk)};
}

std::vector<Bytes> words_seeds(const std::string& /*folder*/) {
  std::vector<Bytes> seeds;
  for (const auto words : codec_pipelines()) seeds.push_back(bytes_of_text(std::string(words)));
  return seeds;
}

std::vector<Bytes> zarr_seeds(const std::string& folder) {
  const auto path = example_file("zarr", folder);
  if (path.empty()) return {};
  return {content(path + "/zarr.json")};
}

std::vector<Bytes> zarr_array_seeds(const std::string& folder) {
  const auto path = example_file("zarr", folder);
  std::vector<Bytes> seeds;
  if (path.empty()) return seeds;
  for (const char* name : {"chunks", "shards", "first"}) {
    seeds.push_back(content(fmt::format("{}/{}/zarr.json", path, name)));
  }
  return seeds;
}

std::vector<Bytes> zarr_shard_seeds(const std::string& folder) {
  const std::string path = folder + "/shards";
  const auto format = storage::find_format("zarr");
  if (!format) return {};
  const auto room = format.value()->lay_out({.arrays = {shards_description()}}, path);
  if (!room) return {};
  return {content(room.value().map.arrays.at(0).map.files.path(0))};
}

// Weir writes none.
std::vector<Bytes> zarr_v2_seeds(const std::string& /*folder*/) {
  return {bytes_of_text(R"({"zarr_consolidated_format": 1, "metadata": {
    ".zgroup": {"zarr_format": 2}, ".zattrs": {"title": "v2"},
    "a/.zarray": {"zarr_format": 2, "shape": [7, 5], "chunks": [3, 5], "dtype": "<f8",
      "compressor": {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 0},
      "fill_value": "NaN", "order": "F", "filters": [{"id": "shuffle", "elementsize": 8}]},
    "a/.zattrs": {"_ARRAY_DIMENSIONS": ["y", "x"]},
    "t/.zarray": {"zarr_format": 2, "shape": [3], "chunks": [2], "dtype": "<M8[ns]",
      "compressor": null, "fill_value": null, "order": "C", "filters": null,
      "dimension_separator": "/"},
    "w/.zarray": {"zarr_format": 2, "shape": [3], "chunks": [2], "dtype": "|S4",
      "compressor": {"id": "zlib", "level": 1}, "fill_value": "YWI=", "order": "C",
      "filters": null}}})")};
}

}  // namespace weir::fuzz
