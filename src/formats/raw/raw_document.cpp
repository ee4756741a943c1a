#include "formats/raw/raw_document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "formats/attribute_json.hpp"
#include "formats/element_json.hpp"
#include "formats/raw/document_reader.hpp"

namespace weir::storage {
namespace {

// Documents of the versions 1 and 2 describe one array.
constexpr std::int64_t first_version_of_files = 3;
// Version of documents with records of other lengths for later steps.
constexpr std::int64_t version_of_later_records = 4;
// Version of documents of arrays in several data files.
constexpr std::int64_t version_of_data_files = 5;

constexpr std::array<std::pair<FileLayout, const char*>, 3> layouts = {
    {{FileLayout::shared, "shared"},
     {FileLayout::per_aggregator, "per-aggregator"},
     {FileLayout::per_rank, "per-rank"}}};

std::int64_t version_of(const RawFile& file) {
  if (file.placement.layout != FileLayout::shared) return version_of_data_files;
  return file.later.empty() ? first_version_of_files : version_of_later_records;
}

Json extents_list(const array::Indices& indices) {
  return std::vector<std::int64_t>(indices.begin(), indices.end());
}

// Writes attributes and their types to the object of an array or group.
void put_attributes(const std::vector<Attribute>& attributes, Json& object) {
  if (!attributes.empty()) object["attributes"] = attributes_json(attributes);
  Json types = attribute_types_json(attributes);
  if (!types.empty()) object["attribute_types"] = std::move(types);
}

Json array_json(const RawFileArray& array) {
  const ArrayDescription& about = array.description;
  Json one;
  one["name"] = about.name;
  one["shape"] = extents_list(about.shape.extents());
  one["type"] = about.type.name();
  one["order"] = about.order == array::Order::row_major ? "row-major" : "column-major";
  one["byte_order"] = "little";
  one["offset"] = array.offset;
  if (about.grows) one["grows"] = true;
  if (array.from_step > 0) one["from_step"] = array.from_step;
  if (about.is_scalar) one["scalar"] = true;
  if (about.chunk_extents) one["chunk_shape"] = extents_list(*about.chunk_extents);
  if (!about.chunk_reason.empty()) one["chunk_reason"] = printable(about.chunk_reason);
  if (!about.fill.empty()) one["fill_value"] = fill_value_json(about.type, about.fill);
  if (!about.dimension_names.empty()) one["dimension_names"] = about.dimension_names;
  put_attributes(about.attributes, one);
  return one;
}

Json placement_json(const Placement& placement) {
  Json one;
  for (const auto& [layout, name] : layouts) {
    if (layout == placement.layout) one["layout"] = name;
  }
  one["files"] = placement.files;
  if (placement.turn != 0) one["turn"] = fmt::format("{:016x}", placement.turn);
  if (!placement.directories.empty()) one["directories"] = placement.directories;
  return one;
}

Result<Placement> parse_placement(const Json& one, const std::string& source) {
  DocumentReader reader(one, source);
  const std::string name = reader.text("layout");
  const auto* const layout = std::find_if(layouts.begin(), layouts.end(),
                                          [&](const auto& known) { return known.second == name; });
  if (layout == layouts.end()) {
    reader.refuse(fmt::format("\"layout\" is \"{}\", not shared, per-aggregator or per-rank",
                              printable(name)));
  }
  Placement placement{.files = reader.whole("files")};
  if (one.contains("turn")) placement.turn = reader.hexadecimal("turn");
  if (const auto found = one.find("directories"); found != one.end()) {
    placement.directories = reader.texts(*found, "directories", most_directories);
  }
  if (!reader.status().ok()) return reader.status().error();
  placement.layout = layout->first;
  if (placement.layout == FileLayout::shared) placement.turn = 0;
  return placement;
}

// Converts a document of version 1 or 2, whose members are those of its only array and of its data
// files, into one with a list of arrays.
Json with_a_list_of_arrays(const Json& old, const std::string& source) {
  Json array = old;
  Json files = Json::object();
  for (const char* const member : {"layout", "files", "turn", "directories"}) {
    if (!old.contains(member)) continue;
    files[member] = old.at(member);
    array.erase(member);
  }
  std::string path = source;
  if (path.ends_with(sidecar_suffix)) path.resize(path.size() - std::strlen(sidecar_suffix));
  array["name"] = name_of_only_array(path);
  return {{"data_files", std::move(files)}, {"arrays", Json::array({std::move(array)})}};
}

// Returns the list of this name, an empty one if it is absent.
const Json& list_in(const Json& from, const char* name, DocumentReader& reader) {
  static const Json nothing = Json::array();
  const auto found = from.find(name);
  if (found == from.end()) return nothing;
  if (found->is_array()) return *found;
  reader.refuse(fmt::format("\"{}\" is no list", name));
  return nothing;
}

// Reads attributes. Those that Weir has no value for are added to `left_out`.
std::vector<Attribute> attributes_in(const Json& from, const std::string& owner,
                                     std::vector<AttributeLeftOut>& left_out) {
  const auto there = from.find("attributes");
  if (there == from.end()) return {};
  const auto types = from.find("attribute_types");
  AttributesFound found = parse_attributes(*there, types == from.end() ? nullptr : &*types, owner);
  std::move(found.left_out.begin(), found.left_out.end(), std::back_inserter(left_out));
  return std::move(found.shown);
}

Result<RawFileArray> parse_array(const Json& one, const std::string& source,
                                 std::vector<AttributeLeftOut>& left_out) {
  DocumentReader reader(one, source);
  const std::string name = reader.text("name");
  const auto is_true = [&](const char* member) {
    const auto found = one.find(member);
    if (found == one.end()) return false;
    if (!found->is_boolean()) {
      reader.refuse(fmt::format("\"{}\" is neither true nor false", member));
    }
    return found->is_boolean() && found->get<bool>();
  };
  const bool grows = is_true("grows");
  const bool is_scalar = is_true("scalar");
  std::vector<std::string> names;
  if (const auto found = one.find("dimension_names"); found != one.end()) {
    names = reader.texts(*found, "dimension_names", array::max_dimensions);
  }
  const Json* const extents = reader.member("shape");
  const auto shape =
      array::Shape::create(extents != nullptr ? reader.list(*extents, "shape") : array::Indices());
  if (!shape) reader.refuse("\"shape\": " + shape.error().message);
  const auto type = array::ElementType::parse(reader.text("type"));
  if (!type) reader.refuse("\"type\": " + printable(type.error().message));
  const std::string order = reader.text("order");
  if (order != "row-major" && order != "column-major") {
    reader.refuse(fmt::format("\"order\" is \"{}\", not \"row-major\" or \"column-major\"",
                              printable(order)));
  }
  if (const std::string bytes = reader.text("byte_order"); bytes != "little") {
    reader.refuse(
        fmt::format("\"byte_order\" is \"{}\"; only \"little\" is read", printable(bytes)));
  }
  const std::int64_t offset = reader.whole("offset");
  std::optional<array::Indices> chunks;
  if (const auto found = one.find("chunk_shape"); found != one.end()) {
    chunks = reader.list(*found, "chunk_shape");
  }
  if (!reader.status().ok()) return reader.status().error();
  RawFileArray array{
      {.name = name,
       .shape = shape.value(),
       .type = type.value(),
       .is_scalar = is_scalar,
       .order = order == "row-major" ? array::Order::row_major : array::Order::column_major,
       .grows = grows,
       .chunk_extents = chunks,
       .dimension_names = std::move(names),
       .attributes = attributes_in(one, name, left_out)},
      offset};
  if (one.contains("chunk_reason")) {
    array.description.chunk_reason = printable(reader.text("chunk_reason"));
  }
  if (const auto found = one.find("fill_value"); found != one.end()) {
    auto element = parse_fill_value(array.description.type, *found);
    if (!element) return reader.error("\"fill_value\" is no element of its type");
    array.description.fill = *std::move(element);
  }
  if (one.contains("from_step")) array.from_step = reader.whole("from_step");
  if (!reader.status().ok()) return reader.status().error();
  return array;
}

// Returns the document as text; nothing if a text in it is not UTF-8.
std::optional<std::string> spelled(const Json& document) {
  try {
    return document.dump(2, ' ', false, Json::error_handler_t::strict) + "\n";
  } catch (const Json::type_error&) {
    return std::nullopt;
  }
}

Error beyond_utf8(const RawFile& file) {
  for (const RawFileArray& one : file.arrays) {
    if (spelled(array_json(one))) continue;
    return invalid_argument(
        fmt::format("array \"{}\": its name, or those of its dimensions, or its attributes are not "
                    "in UTF-8, as the document of a raw file needs them",
                    printable(one.description.name)));
  }
  return invalid_argument(
      "a group's name or attributes are not in UTF-8, as the document of a raw "
      "file needs them");
}

// Returns the version.
Result<std::int64_t> check_head(DocumentReader& reader) {
  const std::string format = reader.text("format");
  if (reader.status().ok() && format != "weir-raw") {
    reader.refuse(fmt::format("is of format \"{}\", not \"weir-raw\"", printable(format)));
  }
  const std::int64_t found = reader.whole("version");
  if (reader.status().ok() && (found < 1 || found > version_of_data_files)) {
    reader.refuse(fmt::format("is of version {}; this Weir reads versions 1 to {}", found,
                              version_of_data_files));
  }
  if (!reader.status().ok()) return reader.status().error();
  return found;
}

}  // namespace

std::string sidecar_path(const std::string& path) { return path + sidecar_suffix; }

std::string name_of_only_array(const std::string& path) {
  std::string name = last_part(path);
  const bool possible = check_name(name).ok() && spelled(Json(name)).has_value();
  return possible ? name : "array";
}

Result<std::string> raw_file_json(const RawFile& file) {
  Json document;
  document["format"] = "weir-raw";
  document["version"] = version_of(file);
  if (file.renaming) document["data"] = "incomplete";
  if (file.steps()) {
    document["records"] = {{"offset", file.records.offset},
                           {"bytes", file.records.bytes},
                           {"steps", file.records.steps}};
  }
  for (const RawLaterRecords& one : file.later) {
    document["later_records"].push_back(
        {{"first_step", one.first_step}, {"offset", one.offset}, {"bytes", one.bytes}});
  }
  if (file.placement.layout != FileLayout::shared) {
    document["data_files"] = placement_json(file.placement);
  }
  document["arrays"] = Json::array();
  for (const RawFileArray& one : file.arrays) document["arrays"].push_back(array_json(one));
  for (const GroupDescription& one : file.groups) {
    Json group = {{"name", one.name}};
    put_attributes(one.attributes, group);
    document["groups"].push_back(std::move(group));
  }
  auto text = spelled(document);
  if (!text) return beyond_utf8(file);
  if (text->size() <= most_raw_document_bytes) return *std::move(text);
  return invalid_argument(fmt::format(
      "the document of a raw file would have {} bytes, and at most {} are read: give it "
      "fewer arrays or shorter attributes",
      text->size(), most_raw_document_bytes));
}

Result<RawFile> parse_raw_file(std::string_view text, const std::string& source) {
  const Json nothing = Json::object();
  const auto refusal = [&](const std::string& what) -> Error {
    return DocumentReader(nothing, source).error(what);
  };
  if (text.size() > most_raw_document_bytes) {
    return refusal("is too long for the description of a file");
  }
  auto found = parse_json(text);
  if (!found || !found->is_object()) {
    return refusal(fmt::format("is no JSON document of one object, or is over {} levels deep",
                               most_json_levels));
  }
  DocumentReader head(*found, source);
  const auto version = check_head(head);
  if (!version) return version.error();
  const Json document = version.value() < first_version_of_files
                            ? with_a_list_of_arrays(*found, source)
                            : *std::move(found);
  DocumentReader reader(document, source);

  RawFile file;
  if (const auto files = document.find("data_files"); files != document.end()) {
    if (!files->is_object()) return refusal("\"data_files\" is no object");
    auto placement = parse_placement(*files, source);
    if (!placement) return placement.error();
    file.placement = std::move(placement).value();
  }
  if (const auto data = document.find("data"); data != document.end()) {
    file.renaming = *data == "incomplete";
    if (!file.renaming) reader.refuse("\"data\" is not \"incomplete\"");
  }
  if (const auto records = document.find("records"); records != document.end()) {
    DocumentReader inside(*records, source);
    if (!records->is_object()) return refusal("\"records\" is no object");
    file.records = {inside.whole("offset"), inside.whole("bytes"), inside.whole("steps")};
    if (!inside.status().ok()) return inside.status().error();
  }
  for (const Json& one : list_in(document, "later_records", reader)) {
    if (!one.is_object()) return refusal("\"later_records\" holds what is no object");
    if (file.later.size() > most_later_records) break;  // check() refuses more
    DocumentReader inside(one, source);
    file.later.push_back(
        {inside.whole("first_step"), inside.whole("offset"), inside.whole("bytes")});
    if (!inside.status().ok()) return inside.status().error();
  }
  for (const Json& one : list_in(document, "arrays", reader)) {
    if (!one.is_object()) return refusal("\"arrays\" holds what is no object");
    auto array = parse_array(one, source, file.left_out);
    if (!array) return array.error();
    file.arrays.push_back(std::move(array).value());
  }
  for (const Json& one : list_in(document, "groups", reader)) {
    if (!one.is_object()) return refusal("\"groups\" holds what is no object");
    DocumentReader inside(one, source);
    const std::string name = inside.text("name");
    file.groups.push_back({name, attributes_in(one, name, file.left_out)});
    if (!inside.status().ok()) return inside.status().error();
  }
  if (!reader.status().ok()) return reader.status().error();
  if (const Status possible = file.check(); !possible.ok()) {
    return refusal(possible.error().message);
  }
  return file;
}

}  // namespace weir::storage
