#include "formats/zarr/document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "formats/attribute_json.hpp"
#include "formats/element_json.hpp"
#include "formats/fill_attribute.hpp"
#include "formats/text_bytes.hpp"
#include "formats/zarr/codec_json.hpp"
#include "formats/zarr/data_type.hpp"
#include "formats/zarr/fill_text.hpp"

namespace weir::storage {
namespace {

// ---- Writing ----------------------------------------------------------------------------------

Json list_of(const array::Indices& indices) {
  return std::vector<std::int64_t>(indices.begin(), indices.end());
}

Json chunk_codecs(const ArrayDescription& array) {
  Json codecs = Json::array();
  if (array.order == array::Order::column_major && !array.is_scalar) {
    std::vector<int> order;
    for (int d = array.shape.dimensions() - 1; d >= 0; --d) order.push_back(d);
    codecs.push_back(named("transpose", {{"order", order}}));
  }
  const bool numbers_encoded =
      !array.codecs.empty() && std::holds_alternative<ZfpCodec>(array.codecs.front());
  if (!numbers_encoded) codecs.push_back(named("bytes", {{"endian", "little"}}));
  for (const Codec& codec : array.codecs) codecs.push_back(zarr_codec(codec, array.type));
  return codecs;
}

constexpr const char* delta_name = "numcodecs.delta";

// ---- Reading ----------------------------------------------------------------------------------

// The first problem that is found becomes the reason.
class Reader {
 public:
  explicit Reader(const Json& document) : document_(document) {}

  std::optional<std::string> reason;

  void refuse(std::string why) {
    if (!reason) reason = std::move(why);
  }

  array::Indices indices(const Json* value, const char* what, std::int64_t least) {
    array::Indices numbers;
    if (value == nullptr || !value->is_array() || value->size() > array::max_dimensions) {
      refuse(
          fmt::format("its {} is not a list of at most {} numbers", what, array::max_dimensions));
      return numbers;
    }
    for (const Json& one : *value) {
      const bool fits =
          one.is_number_integer() &&
          (!one.is_number_unsigned() || one.get<std::uint64_t>() <= std::uint64_t{INT64_MAX}) &&
          one.get<std::int64_t>() >= least;
      if (!fits)
        refuse(fmt::format("its {} contains something that is not a number of at least {}", what,
                           least));
      numbers.push_back(fits ? one.get<std::int64_t>() : least);
    }
    return numbers;
  }

  // Returns an extension point's name, and its configuration in `configuration`.
  std::string extension(const Json* value, const Json*& configuration) {
    static const Json nothing = Json::object();
    configuration = &nothing;
    if (value == nullptr) return {};
    if (value->is_string()) return value->get<std::string>();
    if (const Json* const found = json_member(*value, "configuration")) configuration = found;
    return json_text(json_member(*value, "name"));
  }

  void read(ZarrArray& array) {
    read_keys(array);
    read_grid(array);
    const Json* const transformers = json_member(document_, "storage_transformers");
    if (transformers != nullptr && !transformers->empty()) refuse("it has storage transformers");
    read_codecs(json_member(document_, "codecs"), array, true);
  }

 private:
  void read_keys(ZarrArray& array) {
    const Json* configuration = nullptr;
    const std::string name = extension(json_member(document_, "chunk_key_encoding"), configuration);
    std::string separator = json_text(json_member(*configuration, "separator"));
    if (name == "default") {
      if (separator.empty()) separator = "/";
      array.key_prefix = "c" + separator;
    } else if (name == "v2") {
      if (separator.empty()) separator = ".";
      array.key_prefix = "";
    } else {
      return refuse("its chunk keys are encoded as " + printable(name));
    }
    if (separator != "/" && separator != ".")
      return refuse("its chunk keys have another separator");
    array.separator = separator.front();
  }

  void read_grid(ZarrArray& array) {
    const Json* configuration = nullptr;
    const std::string name = extension(json_member(document_, "chunk_grid"), configuration);
    if (name != "regular") return refuse("its chunk grid is not regular but " + printable(name));
    array.description.chunk_extents =
        indices(json_member(*configuration, "chunk_shape"), "chunk shape", 1);
  }

  void read_codecs(const Json* codecs, ZarrArray& array, bool may_shard) {
    if (codecs == nullptr || !codecs->is_array() || codecs->empty() || codecs->size() > 16) {
      return refuse("its codecs are not a list");
    }
    bool has_bytes = false;
    for (const Json& one : *codecs) {
      const Json* configuration = nullptr;
      const std::string name = extension(&one, configuration);
      if (name == "transpose" && !has_bytes) {
        read_transpose(*configuration, array);
      } else if (has_bytes || name == delta_name) {
        append(name, *configuration, array);
      } else if (name == "vlen-utf8" && array.text_fill) {
        has_bytes = true;
      } else if (name == "bytes" && !array.text_fill) {
        has_bytes = true;
        if (json_text(json_member(*configuration, "endian")) == "big")
          array.byte_order = ByteOrder::big;
      } else if (name == "numcodecs.zfpy" || name == "zfpy") {
        has_bytes = true;
        append(name, *configuration, array);
      } else if (name == "sharding_indexed" && may_shard && codecs->size() == 1) {
        return read_shards(*configuration, array);
      } else {
        return refuse("its chunks are encoded by " + printable(name));
      }
    }
    if (!has_bytes) refuse("its codecs lack \"bytes\"");
  }

  void append(const std::string& name, const Json& configuration, ZarrArray& array) {
    if (name == delta_name) return append_delta(configuration, array);
    auto codec = parse_zarr_codec(name, configuration);
    if (!codec) return refuse("its chunks are encoded by " + printable(name));
    array.description.codecs.push_back(*codec);
  }

  // Appends a delta codec of little-endian numbers in the array's own type.
  void append_delta(const Json& configuration, ZarrArray& array) {
    const auto type = numpy_element_type(json_text(json_member(configuration, "dtype")));
    const Json* const other = json_member(configuration, "astype");
    const auto stored = other == nullptr ? type : numpy_element_type(json_text(other));
    if (!type || !stored || *type != array.description.type) {
      return refuse("its chunks are encoded by delta of numbers of another type than the array");
    }
    DeltaCodec codec;
    if (*stored != *type) codec.stored = stored->kind();
    array.description.codecs.emplace_back(codec);
  }

  void read_transpose(const Json& configuration, ZarrArray& array) {
    const array::Indices order = indices(json_member(configuration, "order"), "transposition", 0);
    bool reversed = order.size() == array.description.shape.dimensions();
    bool alike = reversed;
    for (int d = 0; d < order.size(); ++d) {
      reversed = reversed && order[d] == order.size() - 1 - d;
      alike = alike && order[d] == d;
    }
    if (std::exchange(has_transpose_, true)) refuse("its chunks are transposed more than once");
    if (reversed && !alike) array.description.order = array::Order::column_major;
    if (!reversed && !alike) refuse("its chunks are transposed in part");
  }

  void read_shards(const Json& configuration, ZarrArray& array) {
    array.description.shard_extents = array.description.chunk_extents;
    array.description.chunk_extents =
        indices(json_member(configuration, "chunk_shape"), "chunk shape inside shards", 1);
    const std::string place = json_text(json_member(configuration, "index_location"));
    array.index_at_end = place != "start";
    if (place != "start" && place != "end" && !place.empty())
      refuse("its shards' index is elsewhere");
    const Json* const index = json_member(configuration, "index_codecs");
    const Json* settings = nullptr;
    if (index == nullptr || !index->is_array() || index->empty() || index->size() > 2 ||
        extension(&(*index)[0], settings) != "bytes" ||
        json_text(json_member(*settings, "endian")) != "little") {
      return refuse("its shards' index is not little-endian");
    }
    array.index_summed = index->size() == 2;
    if (array.index_summed && extension(&(*index)[1], settings) != "crc32c") {
      return refuse("its shards' index is encoded by " +
                    printable(extension(&(*index)[1], settings)));
    }
    read_codecs(json_member(configuration, "codecs"), array, false);
  }

  const Json& document_;
  bool has_transpose_ = false;
};

bool is_text(const array::ElementType& type) {
  return type.kind() == array::ElementKind::text || type.kind() == array::ElementKind::utf32;
}

std::vector<std::string> dimension_names(const Json& document, int dimensions) {
  const Json* const list = json_member(document, "dimension_names");
  if (list == nullptr || !list->is_array() ||
      list->size() != static_cast<std::size_t>(dimensions)) {
    return {};
  }
  std::vector<std::string> names;
  for (const Json& one : *list) {
    if (!one.is_string()) return {};
    names.push_back(one.get<std::string>());
  }
  return names;
}

}  // namespace

FormatAbilities zarr_abilities(std::span<const std::string_view> codecs) {
  static constexpr std::array<std::string_view, 1> suffixes = {".zarr"};
  return {.suffixes = suffixes,
          .several_arrays = true,
          .groups = true,
          .attributes = true,
          .dimension_names = true,
          .chunks = true,
          .shards = true,
          .growing = true,
          .column_major_chunks = true,
          .fill = true,
          .utf32 = true,
          .scalars_in_chunks = true,
          .is_folder = true,
          .records_growth = false,
          .codecs = codecs};
}

Json zarr_array_document(const ArrayDescription& array) {
  Json document;
  document["zarr_format"] = 3;
  document["node_type"] = "array";
  const array::Indices none;
  document["shape"] = list_of(array.is_scalar ? none : array.shape.extents());
  document["data_type"] = zarr_data_type(array.type);
  document["chunk_grid"] = named(
      "regular",
      {{"chunk_shape",
        list_of(array.is_scalar ? none : array.shard_extents.value_or(*array.chunk_extents))}});
  document["chunk_key_encoding"] = named("default", {{"separator", "."}});
  std::vector<std::byte> fill = array.fill;
  if (fill.empty()) fill = zarr_fill_of_text(array).value_or(fill);
  fill.resize(static_cast<std::size_t>(array.type.bytes()));
  document["fill_value"] = fill_value_json(array.type, fill);
  if (array.shard_extents) {
    const Json index = {named("bytes", {{"endian", "little"}}), {{"name", "crc32c"}}};
    document["codecs"] =
        Json::array({named("sharding_indexed", {{"chunk_shape", list_of(*array.chunk_extents)},
                                                {"codecs", chunk_codecs(array)},
                                                {"index_codecs", index},
                                                {"index_location", "end"}})});
  } else {
    document["codecs"] = chunk_codecs(array);
  }
  document["attributes"] = attributes_json(with_zarr_fill(array));
  if (!array.dimension_names.empty()) document["dimension_names"] = array.dimension_names;
  return document;
}

Json zarr_group_document(const std::vector<Attribute>& attributes) {
  return {{"zarr_format", 3}, {"node_type", "group"}, {"attributes", attributes_json(attributes)}};
}

std::variant<ZarrArray, std::string> parse_zarr_array(const Json& document, const std::string& name,
                                                      const ZarrOwn& own) {
  Reader reader(document);
  array::Indices extents = reader.indices(json_member(document, "shape"), "shape", 0);
  if (reader.reason) return *reader.reason;
  const bool scalar = extents.empty();
  if (scalar) extents.push_back(1);
  const auto shape = array::Shape::create(extents);
  if (!shape) return printable(shape.error().message);
  auto data_type = parse_zarr_data_type(json_member(document, "data_type"));
  if (auto* const reason = std::get_if<std::string>(&data_type)) return std::move(*reason);
  const ZarrDataType& stored = std::get<ZarrDataType>(data_type);
  ZarrArray array{.description = {
                      .name = name,
                      .shape = shape.value(),
                      .type = stored.type,
                      .is_scalar = scalar,
                  }};
  const Json* const fill = json_member(document, "fill_value");
  if (stored.is_text_of_any_length) {
    array.text_fill = json_text(fill);
    if (std::ssize(*array.text_fill) > most_text_fill_bytes) return "its fill value is too long";
  }
  reader.read(array);
  ArrayDescription& about = array.description;
  if (about.chunk_extents && scalar) about.chunk_extents->push_back(1);
  if (about.shard_extents && scalar) reader.refuse("it is a scalar in shards");
  if (reader.reason) return *reader.reason;
  if (bytes_swapped_together(stored.type) == 1) array.byte_order = ByteOrder::little;
  const bool has_deltas =
      !about.codecs.empty() && std::holds_alternative<DeltaCodec>(about.codecs.front());
  if (has_deltas && array.byte_order == ByteOrder::big) {
    return "its numbers are big-endian and encoded by delta";
  }

  const bool is_empty_text =
      fill != nullptr && fill->is_string() && json_text(fill).empty() && is_text(about.type);
  if (!is_empty_text && !array.text_fill) {
    auto element = fill == nullptr ? std::nullopt : parse_fill_value(about.type, *fill);
    if (!element) return "its fill value does not have its type";
    const bool zeros = std::all_of(element->begin(), element->end(),
                                   [](std::byte b) { return b == std::byte{0}; });
    if (!zeros) about.fill = *std::move(element);
  }
  about.dimension_names = dimension_names(document, scalar ? 0 : shape.value().dimensions());
  AttributesFound found = zarr_attributes(document, name, own);
  about.attributes = std::move(found.shown);
  for (const Attribute& one : stored.attributes) {
    const bool is_there =
        std::any_of(about.attributes.begin(), about.attributes.end(),
                    [&](const Attribute& there) { return there.name == one.name; });
    if (!is_there) about.attributes.push_back(one);
  }
  array.left_out = std::move(found.left_out);
  const Json* const types = own.types_of(name);
  if (types != nullptr && types->contains(fill_attribute_name) && is_text(about.type)) {
    std::vector<std::byte> element = about.fill;
    element.resize(static_cast<std::size_t>(about.type.bytes()));
    if (auto given = fill_attribute_of_text(about.type, element)) {
      std::erase_if(about.attributes,
                    [](const Attribute& one) { return one.name == fill_attribute_name; });
      about.attributes.push_back(*std::move(given));
    }
  }
  about.attributes = without_zarr_fill(about);
  about.grows = (own.growing.contains(name) || grows_as_before(document)) &&
                about.order == array::Order::row_major;
  // These are the rules for arrays that Weir lays out: chunks and shards must fit the array.
  const FormatAbilities anything = zarr_abilities(zarr_codecs_read());
  ArrayDescription bare = about;
  bare.attributes.clear();
  bare.dimension_names.clear();
  if (name.empty()) bare.name = "array";
  if (const Status fine = check_description({.arrays = {bare}}, anything, "zarr"); !fine.ok()) {
    return printable(fine.error().message);
  }
  return array;
}

AttributesFound zarr_attributes(const Json& document, const std::string& owner,
                                const ZarrOwn& own) {
  AttributesFound found;
  const Json* const all = json_member(document, "attributes");
  if (all != nullptr) found = parse_attributes(*all, own.types_of(owner), owner);
  const auto is_weirs = [](const auto& one) { return is_zarr_own(one.name); };
  std::erase_if(found.shown, is_weirs);
  std::erase_if(found.left_out, is_weirs);
  return found;
}

Status check_zarr_attribute(const Attribute& attribute, const array::ElementType* array) {
  if (is_zarr_own(attribute.name)) {
    return invalid_argument(
        fmt::format("attribute \"{}\" is reserved for Weir: give another name", attribute.name));
  }
  if (Status fine = check_has_json_form(attribute); !fine.ok()) return fine;
  if (array == nullptr || attribute.name != fill_attribute_name ||
      array->kind() == array::ElementKind::boolean) {
    return {};
  }
  if (has_zarr_fill_form(attribute.value, *array)) return {};
  return invalid_argument(
      fmt::format("attribute \"{}\" does not have the array's type, {}, which readers of Zarr need",
                  attribute.name, array->name()));
}

}  // namespace weir::storage
