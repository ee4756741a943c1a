#include "formats/raw_array.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>
#include <vector>

#include "common/checked.hpp"
#include "formats/json.hpp"
#include "formats/raw/document_reader.hpp"
#include "stored/file_description.hpp"

namespace weir::storage {
namespace {

// Documents have the earliest version that can express them. Version 2 adds "directories" and
// "turn".
constexpr std::int64_t newest_version = 2;
constexpr std::int64_t most_files = std::int64_t{1} << 20;
constexpr std::size_t longest_directory = 3072;  // leaves room for a file name within system limits

constexpr std::array<std::pair<FileLayout, const char*>, 3> layouts = {
    {{FileLayout::shared, "shared"},
     {FileLayout::per_aggregator, "per-aggregator"},
     {FileLayout::per_rank, "per-rank"}}};

std::vector<std::int64_t> numbers_of(const array::Indices& indices) {
  return {indices.begin(), indices.end()};
}

// Returns the document as text. Bytes that are not UTF-8 are replaced.
std::string spelled(const Json& document, int indent) {
  return document.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

Status check_directory_name(const std::string& name) {
  const auto wrong = [&](const char* rule) {
    return invalid_argument(fmt::format("directory '{}': {}", printable(name), rule));
  };
  if (name.empty()) return wrong("give a name; the folder of the array itself is \"./\"");
  if (name.size() > longest_directory) return wrong("its name is too long");
  if (std::any_of(name.begin(), name.end(),
                  [](unsigned char c) { return c < 0x20 || c == 0x7f; })) {
    return wrong("a name has no control characters");
  }
  for (const auto& part : std::filesystem::path(name)) {
    if (part == "..") return wrong("a name may not lead upwards (..); give it in full");
  }
  const auto again = parse_json(spelled(name, -1));
  if (!again || *again != Json(name)) {
    return wrong("its name is not in UTF-8, as the array's document needs it");
  }
  return {};
}

Result<array::ChunkGrid> RawArray::grid() const {
  return array::ChunkGrid::create(shape, chunk_extents.value_or([&] {
    array::Indices whole = shape.extents();
    for (std::int64_t& extent : whole) extent = std::max<std::int64_t>(1, extent);
    return whole;
  }()));
}

Status RawArray::check() const {
  if (offset < 0) return invalid_argument(fmt::format("offset {}: give 0 or more", offset));
  if (files < 1 || files > most_files) {
    return invalid_argument(fmt::format("{} files: give 1 to {}", files, most_files));
  }
  if (files > 1 && (layout == FileLayout::shared || !chunk_extents)) {
    return invalid_argument(fmt::format(
        "{} files: only chunks are spread over files, in the layout per-aggregator or per-rank",
        files));
  }
  if (!directories.empty() && layout == FileLayout::shared) {
    return invalid_argument(fmt::format(
        "{} directories for one shared file: they are for the layouts per-aggregator and per-rank",
        directories.size()));
  }
  if (directories.size() > std::size_t{most_directories}) {
    return invalid_argument(
        fmt::format("{} directories: give at most {}", directories.size(), most_directories));
  }
  for (const std::string& name : directories) {
    if (Status possible = check_directory_name(name); !possible.ok()) return possible;
  }
  const auto chunks = grid();
  if (!chunks) return chunks.error();
  std::int64_t elements = 1;
  for (const std::int64_t extent : chunks.value().chunk_extents()) elements *= extent;
  const std::int64_t slots = chunks.value().chunks() / files + 1;
  const auto slot_bytes = checked_multiply(elements, type.bytes());
  const auto bytes =
      slot_bytes && chunk_extents ? checked_multiply(*slot_bytes, slots) : slot_bytes;
  if (!bytes || !checked_add(*bytes, offset)) {
    return invalid_argument(fmt::format("an array of {} {} in {} file(s) ends beyond 2^63 bytes",
                                        shape.text(), type.name(), files));
  }
  return {};
}

std::string raw_array_json(const RawArray& array) {
  Json document;
  document["format"] = "weir-raw";
  document["version"] = array.directories.empty() && array.turn == 0 ? 1 : 2;
  document["shape"] = numbers_of(array.shape.extents());
  document["type"] = array.type.name();
  document["order"] = array.order == array::Order::row_major ? "row-major" : "column-major";
  document["byte_order"] = "little";
  document["offset"] = array.offset;
  if (array.chunk_extents) {
    document["chunk_shape"] = numbers_of(*array.chunk_extents);
    document["chunk_reason"] = printable(array.chunk_reason);
  }
  for (const auto& [layout, name] : layouts) {
    if (layout == array.layout) document["layout"] = name;
  }
  document["files"] = array.files;
  if (array.turn != 0) document["turn"] = fmt::format("{:016x}", array.turn);
  if (!array.directories.empty()) document["directories"] = array.directories;
  return spelled(document, 2) + "\n";
}

Result<RawArray> parse_raw_array(std::string_view text, const std::string& source) {
  const Json nothing = Json::object();
  if (text.size() > most_document_bytes) {
    return DocumentReader(nothing, source).error("is too long for the description of an array");
  }
  const auto parsed = parse_json(text);
  if (!parsed || !parsed->is_object()) {
    return DocumentReader(nothing, source)
        .error(fmt::format("is no JSON document of one object, or is over {} levels deep",
                           most_json_levels));
  }
  const Json& document = *parsed;
  DocumentReader reader(document, source);
  const std::string format = reader.text("format");
  if (reader.status().ok() && format != "weir-raw") {
    reader.refuse(fmt::format("is of format \"{}\", not \"weir-raw\"", printable(format)));
  }
  const std::int64_t found_version = reader.whole("version");
  if (reader.status().ok() && (found_version < 1 || found_version > newest_version)) {
    reader.refuse(fmt::format("is of version {}; this Weir reads versions 1 to {}", found_version,
                              newest_version));
  }
  if (!reader.status().ok()) return reader.status().error();

  for (const auto& [key, value] : document.items()) {
    constexpr std::array known = {"format", "version",    "shape",       "type",
                                  "order",  "byte_order", "offset",      "chunk_shape",
                                  "layout", "files",      "chunk_reason"};
    const bool newer = (key == "directories" || key == "turn") && found_version >= 2;
    if (!newer && std::find(known.begin(), known.end(), key) == known.end()) {
      reader.refuse(fmt::format("holds the unknown \"{}\"", printable(key)));
    }
  }
  const std::string layout_name = reader.text("layout");
  const auto* const layout = std::find_if(
      layouts.begin(), layouts.end(), [&](const auto& one) { return one.second == layout_name; });
  if (layout == layouts.end()) {
    reader.refuse(fmt::format("\"layout\" is \"{}\", not shared, per-aggregator or per-rank",
                              printable(layout_name)));
  }
  const std::int64_t files = reader.whole("files");
  std::string reason;
  if (document.contains("chunk_shape") && document.contains("chunk_reason")) {
    reason = printable(reader.text("chunk_reason"));
  }
  std::uint64_t turn = 0;
  if (document.contains("turn")) turn = reader.hexadecimal("turn");
  std::vector<std::string> directories;
  if (const auto found = document.find("directories"); found != document.end()) {
    directories = reader.texts(*found, "directories", most_directories);
  }
  const auto documented = reader.documented_array();
  if (!documented) return documented.error();
  const DocumentedArray& about = documented.value();
  RawArray array{about.shape, about.type,    about.order, about.offset, about.chunk_extents,
                 reason,      layout->first, files,       turn,         directories};
  if (const Status possible = array.check(); !possible.ok()) {
    return reader.error(possible.error().message);
  }
  return array;
}

std::string sidecar_path(const std::string& path) { return path + ".json"; }

DataFiles data_files(const RawArray& array, const std::string& path) {
  if (array.layout == FileLayout::shared) return DataFiles::one(path);
  return DataFiles::numbered(path, array.files, array.directories);
}

std::string data_path(const RawArray& array, const std::string& path, std::int64_t number) {
  return data_files(array, path).path(number);
}

ExtentMap extent_map_of(const RawArray& array, const std::string& path) {
  ExtentMap map{.shape = array.shape,
                .type = array.type,
                .order = array.order,
                .files = data_files(array, path),
                .extents = DenseExtents{array.offset}};
  if (array.chunk_extents) {
    const array::ChunkGrid grid = array.grid().value();
    std::int64_t slot = array.type.bytes();
    for (const std::int64_t extent : grid.chunk_extents()) slot *= extent;
    map.extents =
        ChunkExtents{grid, std::nullopt, SlotsInTurn{array.files, array.offset, slot, array.turn}};
  }
  return map;
}

}  // namespace weir::storage
