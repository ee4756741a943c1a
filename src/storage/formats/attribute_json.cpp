#include "storage/formats/attribute_json.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace weir::storage {
namespace {

std::optional<Attribute::Value> attribute_value(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  const bool is_list = value.is_array();
  std::vector<std::int64_t> whole;
  std::vector<double> real;
  for (std::size_t at = 0; at < (is_list ? value.size() : 1); ++at) {
    const Json& one = is_list ? value[at] : value;
    if (!one.is_number()) return std::nullopt;
    real.push_back(one.get<double>());
    const bool large = one.is_number_unsigned() &&
                       one.get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX);
    if (one.is_number_integer() && !large) whole.push_back(one.get<std::int64_t>());
  }
  if (whole.size() == real.size()) return whole;
  return real;
}

}  // namespace

bool has_json_form(const Attribute& attribute) {
  const auto* const real = std::get_if<std::vector<double>>(&attribute.value);
  return real == nullptr ||
         std::all_of(real->begin(), real->end(), [](double value) { return std::isfinite(value); });
}

Json attributes_json(const std::vector<Attribute>& attributes) {
  Json all = Json::object();
  for (const Attribute& one : attributes) {
    if (const auto* text = std::get_if<std::string>(&one.value)) {
      all[one.name] = *text;
    } else if (const auto* whole = std::get_if<std::vector<std::int64_t>>(&one.value)) {
      all[one.name] = whole->size() == 1 ? Json(whole->front()) : Json(*whole);
    } else {
      const auto& real = std::get<std::vector<double>>(one.value);
      all[one.name] = real.size() == 1 ? Json(real.front()) : Json(real);
    }
  }
  return all;
}

AttributesFound parse_attributes(const Json& attributes, const std::string& owner) {
  AttributesFound found;
  if (!attributes.is_object()) return found;
  for (const auto& [name, value] : attributes.items()) {
    if (auto shown = attribute_value(value)) {
      found.shown.push_back({name, *std::move(shown)});
    } else {
      found.left_out.push_back({owner, name, "it is no text, number or list of numbers"});
    }
  }
  return found;
}

}  // namespace weir::storage
