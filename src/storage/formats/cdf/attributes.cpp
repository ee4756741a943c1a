#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>

#include "storage/formats/cdf/big_endian.hpp"
#include "storage/formats/cdf/header.hpp"

namespace weir::storage {
namespace {

template <typename Stored, typename Shown>
Attribute::Value values_as(const std::vector<std::byte>& bytes) {
  std::vector<Shown> values;
  for (std::size_t at = 0; at + sizeof(Stored) <= bytes.size(); at += sizeof(Stored)) {
    values.push_back(static_cast<Shown>(big_endian_at<Stored>(bytes.data() + at)));
  }
  return values;
}

}  // namespace

Result<CdfAttribute> encode_cdf_attribute(const Attribute& attribute, int version) {
  CdfAttribute made{attribute.name, CdfType::character, {}};
  if (const auto* text = std::get_if<std::string>(&attribute.value)) {
    const auto* const begin = reinterpret_cast<const std::byte*>(text->data());
    made.values.assign(begin, begin + text->size());
    return made;
  }
  if (const auto* real = std::get_if<std::vector<double>>(&attribute.value)) {
    made.type = CdfType::float64;
    for (const double value : *real) append_big_endian(made.values, value);
    return made;
  }
  const auto& whole = std::get<std::vector<std::int64_t>>(attribute.value);
  // Most readers expect numbers of 32 bits where these suffice.
  const bool small = std::all_of(whole.begin(), whole.end(), [](std::int64_t value) {
    return value >= std::numeric_limits<std::int32_t>::min() &&
           value <= std::numeric_limits<std::int32_t>::max();
  });
  if (!small && version < 5) {
    return invalid_argument(fmt::format(
        "attribute \"{}\" has a number of over 32 bits, for which CDF-{} has no type; use CDF-5",
        attribute.name, version));
  }
  made.type = small ? CdfType::int32 : CdfType::int64;
  for (const std::int64_t value : whole) {
    if (small) {
      append_big_endian(made.values, static_cast<std::int32_t>(value));
    } else {
      append_big_endian(made.values, value);
    }
  }
  return made;
}

std::optional<Attribute> decode_cdf_attribute(const CdfAttribute& attribute) {
  const std::vector<std::byte>& bytes = attribute.values;
  const auto named = [&](Attribute::Value value) {
    return Attribute{attribute.name, std::move(value)};
  };
  switch (attribute.type) {
    case CdfType::character: {
      std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      while (!text.empty() && text.back() == '\0') text.pop_back();
      return named(std::move(text));
    }
    case CdfType::int8:
      return named(values_as<std::int8_t, std::int64_t>(bytes));
    case CdfType::int16:
      return named(values_as<std::int16_t, std::int64_t>(bytes));
    case CdfType::int32:
      return named(values_as<std::int32_t, std::int64_t>(bytes));
    case CdfType::uint8:
      return named(values_as<std::uint8_t, std::int64_t>(bytes));
    case CdfType::uint16:
      return named(values_as<std::uint16_t, std::int64_t>(bytes));
    case CdfType::uint32:
      return named(values_as<std::uint32_t, std::int64_t>(bytes));
    case CdfType::int64:
      return named(values_as<std::int64_t, std::int64_t>(bytes));
    case CdfType::float32:
      return named(values_as<float, double>(bytes));
    case CdfType::float64:
      return named(values_as<double, double>(bytes));
    case CdfType::uint64: {
      // What is beyond the range of int64 is negative as such a number.
      auto numbers =
          std::get<std::vector<std::int64_t>>(values_as<std::int64_t, std::int64_t>(bytes));
      if (std::any_of(numbers.begin(), numbers.end(), [](std::int64_t n) { return n < 0; })) {
        return std::nullopt;
      }
      return named(std::move(numbers));
    }
  }
  return std::nullopt;
}

}  // namespace weir::storage
