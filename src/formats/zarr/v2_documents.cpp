#include "formats/zarr/v2_documents.hpp"

#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "formats/zarr/codec_json.hpp"

namespace weir::storage {
namespace {

// xarray's attribute for names of dimensions, from before Zarr had them.
constexpr const char* names_attribute = "_ARRAY_DIMENSIONS";
constexpr const char* missing_attribute = "_FillValue";

// Returns a member. Version 2 writes null for what an array does not have.
const Json* member(const Json& from, const char* name) {
  const Json* const found = json_member(from, name);
  return found == nullptr || found->is_null() ? nullptr : found;
}

// ---- Types ------------------------------------------------------------------------------------

// NumPy's name of a type: byte order, kind and bytes, and for times their unit in brackets.
struct NumpyType {
  char order = '|';
  char kind = ' ';
  std::int64_t bytes = 0;
  std::string_view unit;
};

std::optional<NumpyType> parse_numpy_type(std::string_view name) {
  if (name.size() < 3 || std::string_view("<>|=").find(name[0]) == std::string_view::npos) {
    return std::nullopt;
  }
  NumpyType type{name[0], name[1], 0, {}};
  const char* const end = name.data() + name.size();
  const auto read = std::from_chars(name.data() + 2, end, type.bytes);
  if (read.ec != std::errc() || type.bytes < 1 || type.bytes > INT32_MAX) return std::nullopt;
  std::string_view rest(read.ptr, static_cast<std::size_t>(end - read.ptr));
  if (rest.size() > 2 && rest.front() == '[' && rest.back() == ']') {
    type.unit = rest.substr(1, rest.size() - 2);
    rest = {};
  }
  return rest.empty() ? std::optional(type) : std::nullopt;
}

Json with_bytes(const char* name, std::int64_t bytes) {
  return named(name, {{"length_bytes", bytes}});
}

// Returns a v3 type, or the v2 name if there is no such type.
Json v3_type(const NumpyType& type, const std::string& name) {
  const std::string bits = std::to_string(8 * type.bytes);
  switch (type.kind) {
    case 'i':
      return "int" + bits;
    case 'u':
      return "uint" + bits;
    case 'f':
      return "float" + bits;
    case 'c':
      return "complex" + bits;
    case 'b':
      return type.bytes == 1 ? Json("bool") : Json(name);
    case 'S':
      return with_bytes("null_terminated_bytes", type.bytes);
    case 'U':
      return with_bytes("fixed_length_utf32", 4 * type.bytes);
    case 'M':
    case 'm':
      return named(type.kind == 'M' ? "numpy.datetime64" : "numpy.timedelta64",
                   {{"unit", std::string(type.unit)}, {"scale_factor", 1}});
    default:
      return name;
  }
}

// Returns the value of elements if v2 leaves the fill value open.
Json open_fill(char kind) {
  switch (kind) {
    case 'b':
      return false;
    case 'c':
      return Json::array({0.0, 0.0});
    case 'S':
    case 'U':
      return "";
    default:
      return 0;
  }
}

// ---- Codecs -----------------------------------------------------------------------------------

Json v3_blosc(const Json& codec, std::int64_t element_bytes) {
  constexpr std::array<const char*, 3> shuffles = {"noshuffle", "shuffle", "bitshuffle"};
  Json configuration = codec;
  configuration.erase("id");
  configuration["typesize"] = element_bytes;
  const Json* const shuffle = member(codec, "shuffle");
  std::int64_t which =
      shuffle != nullptr && shuffle->is_number_integer() ? shuffle->get<std::int64_t>() : 1;
  // The value -1 means bitshuffle for elements of one byte, and shuffling bytes for all others.
  if (which == -1) which = element_bytes == 1 ? 2 : 1;
  const bool is_known = which >= 0 && std::cmp_less(which, shuffles.size());
  configuration["shuffle"] =
      is_known ? shuffles.at(static_cast<std::size_t>(which)) : "an unknown shuffle";
  return named("blosc", std::move(configuration));
}

// Converts a filter or compressor of numcodecs.
Json v3_codec(const Json& codec, std::int64_t element_bytes) {
  const std::string id = json_text(member(codec, "id"));
  if (id == "blosc") return v3_blosc(codec, element_bytes);
  Json configuration = codec;
  if (configuration.is_object()) configuration.erase("id");
  const bool is_in_v3 = id == "zstd" || id == "gzip" || id == "crc32c";
  return {{"name", is_in_v3 ? id : "numcodecs." + id}, {"configuration", std::move(configuration)}};
}

// Texts of any length are objects in NumPy, which a filter converts to bytes.
bool is_of_texts(const Json& array) {
  const Json* const filters = member(array, "filters");
  return json_text(member(array, "dtype")) == "|O" && filters != nullptr && filters->is_array() &&
         !filters->empty() && json_text(json_member(filters->front(), "id")) == "vlen-utf8";
}

Json v3_codecs(const Json& array, const NumpyType& type) {
  Json codecs = Json::array();
  const Json* const shape = member(array, "shape");
  if (json_text(member(array, "order")) == "F" && shape != nullptr && shape->is_array()) {
    Json order = Json::array();
    for (std::size_t d = shape->size(); d-- > 0;) order.push_back(d);
    codecs.push_back(named("transpose", {{"order", std::move(order)}}));
  }
  // This filter has the same name in v3, and takes the place of the codec "bytes".
  const bool of_texts = is_of_texts(array);
  if (of_texts) {
    codecs.push_back({{"name", "vlen-utf8"}});
  } else {
    codecs.push_back(named("bytes", {{"endian", type.order == '>' ? "big" : "little"}}));
  }
  const std::int64_t element_bytes = type.kind == 'U' ? 4 * type.bytes : type.bytes;
  if (const Json* const filters = member(array, "filters"); filters != nullptr) {
    bool is_first = true;
    for (const Json& one : *filters) {
      const bool is_done = std::exchange(is_first, false) && of_texts;
      if (!is_done) codecs.push_back(v3_codec(one, element_bytes));
    }
  }
  if (const Json* const compressor = member(array, "compressor"); compressor != nullptr) {
    codecs.push_back(v3_codec(*compressor, element_bytes));
  }
  return codecs;
}

}  // namespace

Json v3_of_v2_group(const Json* attributes) {
  return {{"zarr_format", 3},
          {"node_type", "group"},
          {"attributes", attributes != nullptr ? *attributes : Json::object()}};
}

Json v3_of_v2_array(const Json& array, const Json* attributes) {
  // The notes are kept apart from the document, whose members move when a member is added.
  Json notes = attributes != nullptr ? *attributes : Json::object();
  Json document = v3_of_v2_group(nullptr);
  document["node_type"] = "array";
  if (const Json* const shape = member(array, "shape")) document["shape"] = *shape;
  const std::string name = json_text(member(array, "dtype"));
  const NumpyType type = parse_numpy_type(name).value_or(NumpyType());
  document["data_type"] =
      is_of_texts(array) ? Json("string") : v3_type(type, name.empty() ? "a compound" : name);
  if (const Json* const chunks = member(array, "chunks")) {
    document["chunk_grid"] = named("regular", {{"chunk_shape", *chunks}});
  }
  const std::string separator = json_text(member(array, "dimension_separator"));
  document["chunk_key_encoding"] =
      named("v2", {{"separator", separator.empty() ? "." : separator}});
  const Json* const fill = member(array, "fill_value");
  document["fill_value"] = fill != nullptr ? *fill : open_fill(type.kind);
  document["codecs"] = v3_codecs(array, type);

  if (notes.is_object()) {
    if (const Json* const names = member(notes, names_attribute)) {
      document["dimension_names"] = *names;
      notes.erase(names_attribute);
    }
    // For readers that follow CF's rules, v2's fill value marks missing elements, except 0, with
    // which everything begins.
    const bool says_missing = fill != nullptr && fill->is_number() && fill->get<double>() != 0;
    if (says_missing && notes.find(missing_attribute) == notes.end()) {
      notes[missing_attribute] = *fill;
    }
    // Weir does not add steps to v2 stores.
    notes.erase("_weir_grows");
  }
  document["attributes"] = std::move(notes);
  return document;
}

}  // namespace weir::storage
