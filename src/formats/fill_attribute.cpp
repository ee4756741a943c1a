#include "formats/fill_attribute.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>

#include "common/numbers_in_bytes.hpp"

namespace weir::storage {
namespace {

using array::ElementKind;

float from_half(std::span<const std::byte> element) {
  const auto bits = number_at<std::uint16_t>(element);
  constexpr int exponent_bias = 15;
  constexpr int mantissa_bits = 10;
  constexpr int special_exponent = 31;
  const int exponent = bits >> mantissa_bits & special_exponent;
  const int mantissa = bits & ((1 << mantissa_bits) - 1);
  float magnitude = 0;
  if (exponent == special_exponent) {
    magnitude = mantissa == 0 ? std::numeric_limits<float>::infinity()
                              : std::numeric_limits<float>::quiet_NaN();
  } else {
    const int whole = exponent == 0 ? mantissa : mantissa + (1 << mantissa_bits);
    magnitude = std::ldexp(static_cast<float>(whole),
                           std::max(exponent, 1) - exponent_bias - mantissa_bits);
  }
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

std::optional<Attribute::Value> value_of(const array::ElementType& type,
                                         std::span<const std::byte> element) {
  if (type.kind() == ElementKind::boolean) return std::nullopt;
  if (type.kind() == ElementKind::float16) return std::vector<float>{from_half(element)};
  return numbers_of(type.kind(), element);
}

}  // namespace

std::optional<Attribute> fill_attribute(const ArrayDescription& array) {
  if (const Attribute* const given = find_attribute(array.attributes, fill_attribute_name)) {
    auto in_its_type = numbers_as(array.type.kind(), given->value);
    return in_its_type ? Attribute{fill_attribute_name, *std::move(in_its_type)} : *given;
  }
  if (array.fill.empty()) return std::nullopt;
  auto value = value_of(array.type, array.fill);
  if (!value) return std::nullopt;
  return Attribute{fill_attribute_name, *std::move(value)};
}

std::vector<Attribute> with_fill_attribute(const ArrayDescription& array) {
  std::vector<Attribute> attributes = array.attributes;
  auto fill = fill_attribute(array);
  if (!fill) return attributes;
  const auto given = std::find_if(attributes.begin(), attributes.end(), [](const Attribute& one) {
    return one.name == fill_attribute_name;
  });
  if (given != attributes.end()) {
    *given = *std::move(fill);
  } else {
    attributes.insert(attributes.begin(), *std::move(fill));
  }
  return attributes;
}

std::vector<std::byte> fill_by_attribute(const ArrayDescription& array) {
  const Attribute* const given = find_attribute(array.attributes, fill_attribute_name);
  if (given == nullptr || attribute_count(given->value) != 1) return {};
  const auto* const text = std::get_if<std::string>(&given->value);
  const bool is_character = array.type.kind() == ElementKind::text && array.type.bytes() == 1;
  if (text != nullptr && is_character) return {static_cast<std::byte>(text->front())};
  const auto in_its_type = numbers_as(array.type.kind(), given->value);
  if (!in_its_type) return {};
  const auto element = number_bytes(*in_its_type);
  return {element.begin(), element.end()};
}

}  // namespace weir::storage
