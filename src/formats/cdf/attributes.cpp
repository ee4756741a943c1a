#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <utility>

#include "common/numbers_in_bytes.hpp"
#include "formats/cdf/header.hpp"

namespace weir::storage {
namespace {

template <typename Number>
Attribute::Value values_as(const std::vector<std::byte>& bytes) {
  std::vector<Number> values;
  for (std::size_t at = 0; at + sizeof(Number) <= bytes.size(); at += sizeof(Number)) {
    values.push_back(big_endian_at<Number>(bytes, at));
  }
  return values;
}

// Returns the numbers in their own type if the version has it, or in another type that holds them:
// bytes for truth values, and 32 bits for integers where these suffice, as most readers expect.
std::optional<Attribute::Value> in_a_type_of(int version, const Attribute::Value& numbers) {
  using array::ElementKind;
  const ElementKind own = *number_kind(numbers);
  const ElementKind other = own == ElementKind::boolean ? ElementKind::int8 : ElementKind::int32;
  for (const ElementKind kind : {own, other, ElementKind::int64}) {
    if (!cdf_type(kind, version)) continue;
    if (auto made = numbers_as(kind, numbers)) return made;
  }
  return std::nullopt;
}

}  // namespace

Result<CdfAttribute> encode_cdf_attribute(const Attribute& attribute, int version) {
  CdfAttribute made{attribute.name, CdfType::character, {}};
  if (const auto* text = std::get_if<std::string>(&attribute.value)) {
    const auto* const begin = reinterpret_cast<const std::byte*>(text->data());
    made.values.assign(begin, begin + text->size());
    return made;
  }
  if (!number_kind(attribute.value)) {
    return invalid_argument(fmt::format(
        "attribute \"{}\" is a list of texts, which CDF files cannot store", attribute.name));
  }
  const auto numbers = in_a_type_of(version, attribute.value);
  if (!numbers) {
    return invalid_argument(fmt::format(
        "attribute \"{}\" has a number of type {}, for which CDF-{} has no type{}", attribute.name,
        attribute_type(attribute.value), version, version < 5 ? "; use CDF-5" : ""));
  }
  made.type = *cdf_type(*number_kind(*numbers), version);
  std::visit(
      [&]<typename List>(const List& list) {
        if constexpr (Numbers<List>) {
          for (const auto number : list) append_big_endian(made.values, number);
        }
      },
      *numbers);
  return made;
}

Attribute decode_cdf_attribute(const CdfAttribute& attribute) {
  const std::vector<std::byte>& bytes = attribute.values;
  const auto named = [&](Attribute::Value value) {
    return Attribute{attribute.name, std::move(value)};
  };
  switch (attribute.type) {
    case CdfType::int8:
      return named(values_as<std::int8_t>(bytes));
    case CdfType::int16:
      return named(values_as<std::int16_t>(bytes));
    case CdfType::int32:
      return named(values_as<std::int32_t>(bytes));
    case CdfType::int64:
      return named(values_as<std::int64_t>(bytes));
    case CdfType::uint8:
      return named(values_as<std::uint8_t>(bytes));
    case CdfType::uint16:
      return named(values_as<std::uint16_t>(bytes));
    case CdfType::uint32:
      return named(values_as<std::uint32_t>(bytes));
    case CdfType::uint64:
      return named(values_as<std::uint64_t>(bytes));
    case CdfType::float32:
      return named(values_as<float>(bytes));
    case CdfType::float64:
      return named(values_as<double>(bytes));
    case CdfType::character:
      break;
  }
  std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  while (!text.empty() && text.back() == '\0') text.pop_back();
  return named(std::move(text));
}

}  // namespace weir::storage
