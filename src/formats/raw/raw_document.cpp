#include "formats/raw/raw_document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "formats/attribute_json.hpp"
#include "formats/element_json.hpp"
#include "formats/raw/document_reader.hpp"

namespace weir::storage {
namespace {

constexpr std::int64_t version = 3;
// Version of documents with records of other lengths for later steps.
constexpr std::int64_t version_of_later_records = 4;

bool is_of_file(std::int64_t found) {
  return found == version || found == version_of_later_records;
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
  if (!about.fill.empty()) one["fill_value"] = fill_value_json(about.type, about.fill);
  if (!about.dimension_names.empty()) one["dimension_names"] = about.dimension_names;
  put_attributes(about.attributes, one);
  return one;
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
  const auto documented = reader.documented_array();
  if (!documented) return documented.error();
  RawFileArray array{{.name = name,
                      .shape = documented.value().shape,
                      .type = documented.value().type,
                      .is_scalar = is_scalar,
                      .order = documented.value().order,
                      .grows = grows,
                      .chunk_extents = documented.value().chunk_extents,
                      .dimension_names = std::move(names),
                      .attributes = attributes_in(one, name, left_out)},
                     documented.value().offset};
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

Status check_head(DocumentReader& reader) {
  const std::string format = reader.text("format");
  if (reader.status().ok() && format != "weir-raw") {
    reader.refuse(fmt::format("is of format \"{}\", not \"weir-raw\"", printable(format)));
  }
  const std::int64_t found = reader.whole("version");
  if (reader.status().ok() && !is_of_file(found)) {
    reader.refuse(fmt::format("is of version {}; this Weir reads versions 1 to {}", found,
                              version_of_later_records));
  }
  return reader.status();
}

}  // namespace

Result<std::string> raw_file_json(const RawFile& file) {
  Json document;
  document["format"] = "weir-raw";
  document["version"] = file.later.empty() ? version : version_of_later_records;
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
  document["arrays"] = Json::array();
  for (const RawFileArray& one : file.arrays) document["arrays"].push_back(array_json(one));
  for (const GroupDescription& one : file.groups) {
    Json group = {{"name", one.name}};
    put_attributes(one.attributes, group);
    document["groups"].push_back(std::move(group));
  }
  auto text = spelled(document);
  if (!text) return beyond_utf8(file);
  if (text->size() <= most_raw_file_document_bytes) return *std::move(text);
  return invalid_argument(fmt::format(
      "the document of a raw file would have {} bytes, and at most {} are read: give it "
      "fewer arrays or shorter attributes",
      text->size(), most_raw_file_document_bytes));
}

bool is_raw_file_json(std::string_view text) {
  const auto document = parse_json(text);
  if (!document || !document->is_object()) return false;
  const auto found = document->find("version");
  return found != document->end() && found->is_number_integer() &&
         (*found == version || *found == version_of_later_records);
}

Result<RawFile> parse_raw_file(std::string_view text, const std::string& source) {
  const Json nothing = Json::object();
  const auto refusal = [&](const std::string& what) -> Error {
    return DocumentReader(nothing, source).error(what);
  };
  if (text.size() > most_raw_file_document_bytes) {
    return refusal("is too long for the description of a file");
  }
  const auto found = parse_json(text);
  if (!found || !found->is_object()) {
    return refusal(fmt::format("is no JSON document of one object, or is over {} levels deep",
                               most_json_levels));
  }
  const Json& document = *found;
  DocumentReader reader(document, source);
  if (Status head = check_head(reader); !head.ok()) return head.error();

  RawFile file;
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
