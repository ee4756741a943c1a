#include "files/description_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <exception>
#include <initializer_list>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "codecs/codec.hpp"

namespace weir::files {
namespace {

using Json = nlohmann::ordered_json;
using storage::ArrayDescription;
using storage::Attribute;

// ---- To JSON ----------------------------------------------------------------------------------

Json list_of(const array::Indices& indices) {
  return std::vector<std::int64_t>(indices.begin(), indices.end());
}

Json list_or_null(const std::optional<array::Indices>& indices) {
  return indices ? list_of(*indices) : Json();
}

template <typename Number>
Json number_of(Number number) {
  if constexpr (std::is_same_v<Number, storage::Truth>) {
    return number == storage::Truth::yes ? 1 : 0;
  } else if constexpr (std::is_floating_point_v<Number>) {
    if (std::isnan(number)) return "NaN";
    if (std::isinf(number)) return number > 0 ? "Infinity" : "-Infinity";
    return static_cast<double>(number);
  } else {
    return number;
  }
}

Json attributes_of(const std::vector<Attribute>& attributes) {
  Json list = Json::array();
  for (const Attribute& one : attributes) {
    Json member = {{"name", one.name}};
    std::visit(
        [&]<typename Value>(const Value& value) {
          if constexpr (std::is_same_v<Value, std::string>) {
            member["text"] = value;
          } else if constexpr (std::is_same_v<Value, std::vector<std::string>>) {
            member["texts"] = value;
          } else {
            Json numbers = Json::array();
            for (const auto number : value) numbers.push_back(number_of(number));
            const bool real = std::is_floating_point_v<typename Value::value_type>;
            member[real ? "reals" : "integers"] = std::move(numbers);
            member["type"] = storage::attribute_type(one.value);
          }
        },
        one.value);
    list.push_back(std::move(member));
  }
  return list;
}

Json left_out_of(const std::vector<storage::AttributeLeftOut>& attributes) {
  Json list = Json::array();
  for (const storage::AttributeLeftOut& one : attributes) {
    list.push_back({{"owner", one.owner}, {"name", one.name}, {"reason", one.reason}});
  }
  return list;
}

Json fill_of(std::span<const std::byte> fill) {
  if (fill.empty()) return {};
  std::string digits;
  for (const std::byte one : fill) digits += fmt::format("{:02x}", std::to_integer<unsigned>(one));
  return digits;
}

Json array_of(const storage::StoredArray& stored) {
  const ArrayDescription& one = stored.description;
  const std::optional<array::Indices> no_chunks;
  return {{"name", one.name},
          {"shape", list_of(one.is_scalar ? array::Indices() : one.shape.extents())},
          {"type", one.type.name()},
          {"order", one.order == array::Order::row_major ? "row-major" : "column-major"},
          {"grows", one.grows},
          {"chunks", list_or_null(one.is_scalar ? no_chunks : one.chunk_extents)},
          {"shards", list_or_null(one.shard_extents)},
          {"dimension_names", one.dimension_names},
          {"fill", fill_of(one.fill)},
          {"codecs", one.codecs.empty() ? Json() : Json(storage::pipeline_text(one.codecs))},
          {"byte_order", stored.map.byte_order == storage::ByteOrder::little ? "little" : "big"},
          {"attributes", attributes_of(one.attributes)}};
}

Json array_of(const storage::StoredTexts& texts) {
  Json array = array_of(texts.array);
  array["type"] = text_of_any_length;
  array["fill"] = fill_of(std::as_bytes(std::span(texts.fill)));
  return array;
}

// ---- From JSON --------------------------------------------------------------------------------

// Thrown for the first error that is found; what was parsed before is discarded.
class Wrong : public std::exception {
 public:
  explicit Wrong(Error error) : error_(std::move(error)) {}
  [[nodiscard]] const char* what() const noexcept override { return error_.message.c_str(); }
  [[nodiscard]] const Error& error() const { return error_; }

 private:
  Error error_;
};

[[noreturn]] void refuse(const std::string& what) {
  throw Wrong(invalid_argument("the description of the file " + what));
}

const Json& member(const Json& object, const char* name, const std::string& where) {
  const auto found = object.find(name);
  if (found == object.end()) refuse(fmt::format("has no \"{}\" in {}", name, where));
  return *found;
}

std::string text_of(const Json& value, const std::string& where) {
  if (!value.is_string()) refuse(fmt::format("has no text in {}", where));
  return value.get<std::string>();
}

std::int64_t integer_of(const Json& value, const std::string& where) {
  const bool fits =
      value.is_number_integer() &&
      (!value.is_number_unsigned() || value.get<std::uint64_t>() <= std::uint64_t{INT64_MAX});
  if (!fits) refuse(fmt::format("has no whole number below 2^63 in {}", where));
  return value.get<std::int64_t>();
}

double real_of(const Json& value, const std::string& where) {
  if (value.is_number()) return value.get<double>();
  if (value == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (value == "Infinity") return std::numeric_limits<double>::infinity();
  if (value == "-Infinity") return -std::numeric_limits<double>::infinity();
  refuse(fmt::format("has no number in {}", where));
}

template <typename Each>
auto list_from(const Json& value, const std::string& where, const Each& each) {
  if (!value.is_array()) refuse(fmt::format("has no list in {}", where));
  std::vector<decltype(each(value, where))> list;
  for (const Json& one : value) list.push_back(each(one, where));
  return list;
}

array::Indices indices_from(const Json& value, const std::string& where) {
  const auto list = list_from(value, where, integer_of);
  if (list.size() > array::max_dimensions) {
    refuse(fmt::format("has {} dimensions in {}; there are at most {}", list.size(), where,
                       array::max_dimensions));
  }
  return array::Indices(std::span<const std::int64_t>(list));
}

// Parses integers up to 2^64 - 1.
Attribute::Value integers_from(const Json& value, const std::string& where) {
  const bool large =
      value.is_array() && std::any_of(value.begin(), value.end(), [](const Json& one) {
        return one.is_number_unsigned() && one.get<std::uint64_t>() > std::uint64_t{INT64_MAX};
      });
  if (!large) return list_from(value, where, integer_of);
  return list_from(value, where, [](const Json& one, const std::string& at) {
    if (!one.is_number_unsigned()) refuse(fmt::format("has no whole number below 2^64 in {}", at));
    return one.get<std::uint64_t>();
  });
}

Attribute attribute_from(const Json& value, const std::string& where) {
  if (!value.is_object()) refuse(fmt::format("has no object in {}", where));
  Attribute attribute{text_of(member(value, "name", where), where), {}};
  if (const auto text = value.find("text"); text != value.end()) {
    attribute.value = text_of(*text, where);
    return attribute;
  }
  if (const auto texts = value.find("texts"); texts != value.end()) {
    attribute.value = list_from(*texts, where, text_of);
    return attribute;
  }
  const auto integers = value.find("integers");
  if (integers != value.end()) {
    attribute.value = integers_from(*integers, where);
  } else {
    attribute.value =
        list_from(member(value, "reals", where), where,
                  [](const Json& one, const std::string& at) { return real_of(one, at); });
  }
  if (const auto type = value.find("type"); type != value.end()) {
    const auto known = array::ElementType::parse(text_of(*type, where));
    if (!known) throw Wrong(known.error());
    const auto* const reals = std::get_if<std::vector<double>>(&attribute.value);
    if (reals != nullptr && known.value() == array::ElementKind::float32) {
      attribute.value = std::vector<float>(reals->begin(), reals->end());  // the nearest ones
    }
    auto typed = storage::numbers_as(known.value().kind(), attribute.value);
    if (!typed) {
      refuse(fmt::format("has an attribute \"{}\" that is not of the type {} in {}",
                         storage::printable(attribute.name), known.value().name(), where));
    }
    attribute.value = *std::move(typed);
  }
  return attribute;
}

std::vector<std::byte> fill_from(const Json& value, const std::string& where) {
  const std::string digits = text_of(value, where);
  std::vector<std::byte> fill;
  for (std::size_t at = 0; at + 2 <= digits.size(); at += 2) {
    unsigned byte = 0;
    const char* const begin = digits.data() + at;
    const auto [end, problem] = std::from_chars(begin, begin + 2, byte, 16);
    if (problem != std::errc() || end != begin + 2) break;
    fill.push_back(static_cast<std::byte>(byte));
  }
  if (fill.empty() || 2 * fill.size() != digits.size()) {
    refuse(fmt::format("has no hexadecimal digits in {}", where));
  }
  return fill;
}

// Refuses unknown members, which would otherwise be missing from the file without notice.
void refuse_unknown(const Json& object, std::initializer_list<std::string_view> known,
                    const std::string& where) {
  for (const auto& [key, value] : object.items()) {
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      refuse(fmt::format("has an unknown \"{}\" in {}", storage::printable(key), where));
    }
  }
}

// Returns the member, or null if it is absent or null.
const Json* optional_member(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

// Returns whether a member is present and true.
bool is_set(const Json& object, const char* name) {
  const Json* const found = optional_member(object, name);
  if (found == nullptr) return false;
  if (!found->is_boolean())
    refuse(fmt::format("has a \"{}\" that is neither true nor false", name));
  return found->get<bool>();
}

ArrayDescription array_from(const Json& value, const std::string& /*where*/) {
  if (!value.is_object()) refuse("has an array that is not an object");
  const std::string name = text_of(member(value, "name", "an array"), "the name of an array");
  const std::string where = fmt::format("array \"{}\"", storage::printable(name));
  refuse_unknown(value,
                 {"name", "shape", "type", "order", "grows", "chunks", "shards", "dimension_names",
                  "fill", "codecs", "byte_order", "attributes"},
                 where);
  array::Indices extents = indices_from(member(value, "shape", where), where);
  const bool is_scalar = extents.empty();
  if (is_scalar) extents.push_back(1);
  const auto shape = array::Shape::create(extents);
  if (!shape) throw Wrong(shape.error());
  const auto type = array::ElementType::parse(text_of(member(value, "type", where), where));
  if (!type) throw Wrong(type.error());
  ArrayDescription one{
      .name = name, .shape = shape.value(), .type = type.value(), .is_scalar = is_scalar};
  if (const Json* const order = optional_member(value, "order")) {
    const std::string told = text_of(*order, where);
    if (told != "row-major" && told != "column-major") {
      refuse(fmt::format("has an order that is neither row-major nor column-major in {}", where));
    }
    one.order = told == "row-major" ? array::Order::row_major : array::Order::column_major;
  }
  if (const Json* const grows = optional_member(value, "grows")) {
    if (!grows->is_boolean())
      refuse(fmt::format("has a \"grows\" that is neither true nor false in {}", where));
    one.grows = grows->get<bool>();
  }
  if (const Json* const chunks = optional_member(value, "chunks")) {
    const array::Indices asked = indices_from(*chunks, where);
    if (!is_scalar || !asked.empty()) one.chunk_extents = asked;
  }
  if (const Json* const shards = optional_member(value, "shards")) {
    one.shard_extents = indices_from(*shards, where);
  }
  if (const Json* const names = optional_member(value, "dimension_names")) {
    one.dimension_names = list_from(*names, where, text_of);
  }
  if (const Json* const fill = optional_member(value, "fill")) one.fill = fill_from(*fill, where);
  if (const Json* const codecs = optional_member(value, "codecs")) {
    auto pipeline = storage::parse_pipeline(text_of(*codecs, where));
    if (!pipeline) throw Wrong(pipeline.error());
    one.codecs = std::move(pipeline).value();
  }
  if (const Json* const attributes = optional_member(value, "attributes")) {
    one.attributes = list_from(*attributes, where, attribute_from);
  }
  return one;
}

storage::GroupDescription group_from(const Json& value, const std::string& where) {
  if (!value.is_object()) refuse("has a group that is not an object");
  storage::GroupDescription group{text_of(member(value, "name", where), where)};
  if (const Json* const attributes = optional_member(value, "attributes")) {
    group.attributes = list_from(*attributes, where, attribute_from);
  }
  return group;
}

}  // namespace

std::string description_json(std::string_view format, const storage::FileMap& map,
                             const std::vector<storage::AttributeLeftOut>& retyped) {
  Json document = {{"format", format}, {"arrays", Json::array()}, {"groups", Json::array()}};
  for (const storage::StoredArray& one : map.arrays) document["arrays"].push_back(array_of(one));
  for (const storage::StoredTexts& one : map.texts) document["arrays"].push_back(array_of(one));
  for (const storage::GroupDescription& one : map.groups) {
    document["groups"].push_back(
        {{"name", one.name}, {"attributes", attributes_of(one.attributes)}});
  }
  document["refused"] = Json::array();
  for (const storage::RefusedArray& one : map.refused) {
    document["refused"].push_back({{"name", one.name}, {"reason", one.reason}});
  }
  document["left_out"] = left_out_of(map.left_out);
  document["retyped"] = left_out_of(retyped);
  return document.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<AskedFile> parse_description(std::string_view text) {
  const Json document = Json::parse(text, nullptr, false);
  try {
    if (document.is_discarded() || !document.is_object())
      refuse("is not a JSON document with one object");
    refuse_unknown(document,
                   {"format", "arrays", "groups", "refused", "left_out", "retyped", "alignment",
                    "checksum", "leave_out_attributes", "replace"},
                   "the file");
    AskedFile asked;
    storage::FileDescription& file = asked.description;
    file.arrays = list_from(member(document, "arrays", "the file"), "\"arrays\"", array_from);
    if (const Json* const groups = optional_member(document, "groups")) {
      file.groups = list_from(*groups, "\"groups\"", group_from);
    }
    if (const Json* const alignment = optional_member(document, "alignment")) {
      file.alignment = integer_of(*alignment, "\"alignment\"");
      if (file.alignment < 1) refuse("has an alignment below 1");
    }
    if (const Json* const checksum = optional_member(document, "checksum")) {
      if (text_of(*checksum, "\"checksum\"") != "crc32c") {
        refuse("has a checksum that is not \"crc32c\"");
      }
      asked.checksum = storage::Checksum::crc32c;
    }
    asked.leave_out_attributes = is_set(document, "leave_out_attributes");
    asked.replaces = is_set(document, "replace");
    return asked;
  } catch (const Wrong& wrong) {
    return wrong.error();
  }
}

}  // namespace weir::files
