#include "formats/attribute_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <variant>

namespace weir::storage {
namespace {

using array::ElementKind;

// ---- To JSON ----------------------------------------------------------------------------------

template <typename Number>
Json number_json(Number number) {
  if constexpr (std::is_same_v<Number, Truth>) {
    return number == Truth::yes;
  } else if constexpr (std::is_floating_point_v<Number>) {
    if (std::isnan(number)) return "NaN";
    if (std::isinf(number)) return number > 0 ? "Infinity" : "-Infinity";
    return static_cast<double>(number);
  } else {
    return number;
  }
}

Json value_json(const Attribute::Value& value) {
  return std::visit(
      []<typename List>(const List& list) -> Json {
        if constexpr (!Numbers<List>) {
          return list;
        } else {
          if (list.size() == 1) return number_json(list.front());
          Json numbers = Json::array();
          for (const auto number : list) numbers.push_back(number_json(number));
          return numbers;
        }
      },
      value);
}

// ---- From JSON --------------------------------------------------------------------------------

// Returns the items of a list, or the single value.
std::span<const Json> items_of(const Json& value) {
  if (!value.is_array()) return {&value, 1};
  const auto& items = value.get_ref<const Json::array_t&>();
  return items;
}

template <typename Item, typename Fits, typename Get>
std::optional<Attribute::Value> list_of(std::span<const Json> items, const Fits& fits,
                                        const Get& get) {
  std::vector<Item> list;
  list.reserve(items.size());
  for (const Json& one : items) {
    if (!fits(one)) return std::nullopt;
    list.push_back(get(one));
  }
  return list;
}

// Parses a value without a stored type: int64, or uint64 if that is too small, float64, truth
// values, texts.
std::optional<Attribute::Value> by_itself(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  const std::span<const Json> items = items_of(value);
  const auto all = [&](const auto& is) { return std::all_of(items.begin(), items.end(), is); };
  if (!items.empty() && items.front().is_string()) {
    return list_of<std::string>(
        items, [](const Json& one) { return one.is_string(); },
        [](const Json& one) { return one.get<std::string>(); });
  }
  if (!items.empty() && items.front().is_boolean()) {
    return list_of<Truth>(
        items, [](const Json& one) { return one.is_boolean(); },
        [](const Json& one) { return one.get<bool>() ? Truth::yes : Truth::no; });
  }
  const bool whole = all([](const Json& one) { return one.is_number_integer(); });
  const bool fits = all([](const Json& one) {
    return !one.is_number_unsigned() ||
           one.get<std::uint64_t>() <= static_cast<std::uint64_t>(INT64_MAX);
  });
  if (whole && fits) {
    return list_of<std::int64_t>(
        items, [](const Json& /*one*/) { return true; },
        [](const Json& one) { return one.get<std::int64_t>(); });
  }
  if (whole) {
    return list_of<std::uint64_t>(
        items, [](const Json& one) { return one.is_number_unsigned(); },
        [](const Json& one) { return one.get<std::uint64_t>(); });
  }
  return list_of<double>(
      items, [](const Json& one) { return one.is_number(); },
      [](const Json& one) { return one.get<double>(); });
}

std::optional<double> real_of(const Json& one) {
  if (one.is_number()) return one.get<double>();
  if (one == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (one == "Infinity") return std::numeric_limits<double>::infinity();
  if (one == "-Infinity") return -std::numeric_limits<double>::infinity();
  return std::nullopt;
}

// Parses a value of a stored type. Returns nothing if the value does not have this type.
std::optional<Attribute::Value> in_type(const Json& value, const std::string& name) {
  if (name == "texts" && value.is_array() && value.empty()) return std::vector<std::string>();
  const auto type = array::ElementType::parse(name);
  if (!type) return std::nullopt;
  const ElementKind kind = type.value().kind();
  auto found = by_itself(value);
  if (kind == ElementKind::float32 || kind == ElementKind::float64) {
    found = list_of<double>(
        items_of(value), [](const Json& one) { return real_of(one).has_value(); },
        [](const Json& one) { return *real_of(one); });
  }
  return found ? numbers_as(kind, *found) : std::nullopt;
}

}  // namespace

Status check_has_json_form(const Attribute& attribute) {
  const auto* const text = std::get_if<std::string>(&attribute.value);
  const auto* const texts = std::get_if<std::vector<std::string>>(&attribute.value);
  const bool fine = (text == nullptr || is_utf8(*text)) &&
                    (texts == nullptr || std::all_of(texts->begin(), texts->end(), is_utf8));
  if (fine) return {};
  return invalid_argument(
      fmt::format("attribute \"{}\" is a text that is not in UTF-8", attribute.name));
}

Json attributes_json(const std::vector<Attribute>& attributes) {
  Json all = Json::object();
  for (const Attribute& one : attributes) all[one.name] = value_json(one.value);
  return all;
}

Json attribute_types_json(const std::vector<Attribute>& attributes) {
  Json types = Json::object();
  for (const Attribute& one : attributes) {
    if (by_itself(value_json(one.value)) != one.value) types[one.name] = attribute_type(one.value);
  }
  return types;
}

AttributesFound parse_attributes(const Json& attributes, const Json* types,
                                 const std::string& owner) {
  AttributesFound found;
  if (!attributes.is_object()) return found;
  const bool has_types = types != nullptr && types->is_object();
  for (const auto& [name, value] : attributes.items()) {
    std::optional<Attribute::Value> shown;
    if (has_types) {
      const auto type = types->find(name);
      if (type != types->end() && type->is_string()) {
        shown = in_type(value, type->get<std::string>());
      }
    }
    if (!shown) shown = by_itself(value);
    if (shown) {
      found.shown.push_back({name, *std::move(shown)});
    } else {
      found.left_out.push_back(
          {owner, name,
           "it is neither a text, a number, true or false, nor a list of one of these kinds"});
    }
  }
  return found;
}

}  // namespace weir::storage
