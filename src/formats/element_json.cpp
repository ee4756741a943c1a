#include "formats/element_json.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <utility>

#include "formats/text_bytes.hpp"

namespace weir::storage {
namespace {

using array::ElementKind;
using Bytes = std::vector<std::byte>;

template <typename Number>
Number number_of(const std::byte* bytes) {
  Number number{};
  std::memcpy(&number, bytes, sizeof(Number));
  return number;
}

template <typename Number>
Bytes bytes_of_number(Number number) {
  Bytes bytes(sizeof(Number));
  std::memcpy(bytes.data(), &number, sizeof(Number));
  return bytes;
}

template <typename Float, typename Bits>
Json float_json(const std::byte* bytes) {
  const auto value = number_of<Float>(bytes);
  if (std::isfinite(value)) return value;
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  const auto bits = number_of<Bits>(bytes);
  if (bits == number_of<Bits>(bytes_of_number(std::numeric_limits<Float>::quiet_NaN()).data())) {
    return "NaN";
  }
  return fmt::format("0x{:0{}x}", bits, 2 * sizeof(Bits));
}

template <typename Bits>
std::optional<Bytes> parse_bits(const std::string& text) {
  Bits bits = 0;
  if (text.size() != 2 + 2 * sizeof(Bits) || !text.starts_with("0x")) return std::nullopt;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data() + 2, end, bits, 16);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return bytes_of_number(bits);
}

template <typename Float, typename Bits>
std::optional<Bytes> parse_float(const Json& value) {
  if (value.is_number()) return bytes_of_number(static_cast<Float>(value.get<double>()));
  if (!value.is_string()) return std::nullopt;
  const auto& text = value.get_ref<const std::string&>();
  if (text == "NaN") return bytes_of_number(std::numeric_limits<Float>::quiet_NaN());
  if (text == "Infinity") return bytes_of_number(std::numeric_limits<Float>::infinity());
  if (text == "-Infinity") return bytes_of_number(-std::numeric_limits<Float>::infinity());
  return parse_bits<Bits>(text);
}

template <typename Number>
std::optional<Bytes> parse_whole(const Json& value) {
  // Some writers use 0.0 even if the type is an integer.
  if (value.is_number_float() && value.get<double>() == 0) return bytes_of_number(Number{0});
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    if (!std::in_range<Number>(number)) return std::nullopt;
    return bytes_of_number(static_cast<Number>(number));
  }
  if (!value.is_number_integer()) return std::nullopt;
  const auto number = value.get<std::int64_t>();
  if (!std::in_range<Number>(number)) return std::nullopt;
  return bytes_of_number(static_cast<Number>(number));
}

template <typename Float, typename Bits>
std::optional<Bytes> parse_complex(const Json& value) {
  if (!value.is_array() || value.size() != 2) return std::nullopt;
  auto real = parse_float<Float, Bits>(value[0]);
  const auto imaginary = parse_float<Float, Bits>(value[1]);
  if (!real || !imaginary) return std::nullopt;
  real->insert(real->end(), imaginary->begin(), imaginary->end());
  return real;
}

// Parses a number that half precision can hold exactly, or "0x..." with the bits of any other.
std::optional<Bytes> parse_half(const Json& value) {
  if (value.is_number() && value.get<double>() == 0) return bytes_of_number(std::uint16_t{0});
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    if (text == "NaN") return bytes_of_number(std::uint16_t{0x7e00});
    if (text == "Infinity") return bytes_of_number(std::uint16_t{0x7c00});
    if (text == "-Infinity") return bytes_of_number(std::uint16_t{0xfc00});
    return parse_bits<std::uint16_t>(text);
  }
  if (!value.is_number()) return std::nullopt;
  if (std::isnan(value.get<double>())) return parse_half("NaN");
  if (std::isinf(value.get<double>())) {
    return parse_half(value.get<double>() > 0 ? "Infinity" : "-Infinity");
  }
  const double magnitude = std::fabs(value.get<double>());
  int exponent = 0;
  const double fraction = std::frexp(magnitude, &exponent);  // 0.5 <= fraction < 1
  const double mantissa = (fraction * 2 - 1) * 1024;
  if (exponent < -13 || exponent > 16 || mantissa != std::floor(mantissa)) return std::nullopt;
  const auto sign = static_cast<std::uint16_t>(value.get<double>() < 0 ? 0x8000 : 0);
  return bytes_of_number(
      static_cast<std::uint16_t>(sign | ((exponent + 14) << 10) | static_cast<int>(mantissa)));
}

std::span<const std::byte> without_zeros_behind(std::span<const std::byte> bytes) {
  while (!bytes.empty() && bytes.back() == std::byte{0}) bytes = bytes.first(bytes.size() - 1);
  return bytes;
}

std::optional<Bytes> filled_up(std::optional<Bytes> bytes, std::int64_t length) {
  const auto size = static_cast<std::size_t>(length);
  if (!bytes || bytes->size() > size || length > most_text_fill_bytes) return std::nullopt;
  bytes->resize(size);
  return bytes;
}

std::optional<Bytes> parse_text(const Json& value, std::int64_t length) {
  if (!value.is_string()) return std::nullopt;
  return filled_up(parse_base64(value.get_ref<const std::string&>()), length);
}

std::optional<Bytes> parse_utf32(const Json& value, std::int64_t length) {
  if (!value.is_string()) return std::nullopt;
  return filled_up(utf32_of_utf8(value.get_ref<const std::string&>()), length);
}

}  // namespace

Json fill_value_json(const array::ElementType& type, const Bytes& element) {
  const std::byte* const from = element.data();
  switch (type.kind()) {
    case ElementKind::int8:
      return number_of<std::int8_t>(from);
    case ElementKind::int16:
      return number_of<std::int16_t>(from);
    case ElementKind::int32:
      return number_of<std::int32_t>(from);
    case ElementKind::int64:
      return number_of<std::int64_t>(from);
    case ElementKind::uint8:
      return number_of<std::uint8_t>(from);
    case ElementKind::uint16:
      return number_of<std::uint16_t>(from);
    case ElementKind::uint32:
      return number_of<std::uint32_t>(from);
    case ElementKind::uint64:
      return number_of<std::uint64_t>(from);
    case ElementKind::float16:
      if (number_of<std::uint16_t>(from) == 0) return 0.0;
      return fmt::format("0x{:04x}", number_of<std::uint16_t>(from));
    case ElementKind::float32:
      return float_json<float, std::uint32_t>(from);
    case ElementKind::float64:
      return float_json<double, std::uint64_t>(from);
    case ElementKind::complex64:
      return {float_json<float, std::uint32_t>(from), float_json<float, std::uint32_t>(from + 4)};
    case ElementKind::complex128:
      return {float_json<double, std::uint64_t>(from), float_json<double, std::uint64_t>(from + 8)};
    case ElementKind::boolean:
      return *from != std::byte{0};
    case ElementKind::text:
      return base64(without_zeros_behind(element));
    case ElementKind::utf32:
      return utf8_of_utf32(element).value_or("");
    case ElementKind::record:
      return nullptr;
  }
  return nullptr;
}

std::optional<Bytes> parse_fill_value(const array::ElementType& type, const Json& value) {
  switch (type.kind()) {
    case ElementKind::int8:
      return parse_whole<std::int8_t>(value);
    case ElementKind::int16:
      return parse_whole<std::int16_t>(value);
    case ElementKind::int32:
      return parse_whole<std::int32_t>(value);
    case ElementKind::int64:
      return parse_whole<std::int64_t>(value);
    case ElementKind::uint8:
      return parse_whole<std::uint8_t>(value);
    case ElementKind::uint16:
      return parse_whole<std::uint16_t>(value);
    case ElementKind::uint32:
      return parse_whole<std::uint32_t>(value);
    case ElementKind::uint64:
      return parse_whole<std::uint64_t>(value);
    case ElementKind::float16:
      return parse_half(value);
    case ElementKind::float32:
      return parse_float<float, std::uint32_t>(value);
    case ElementKind::float64:
      return parse_float<double, std::uint64_t>(value);
    case ElementKind::complex64:
      return parse_complex<float, std::uint32_t>(value);
    case ElementKind::complex128:
      return parse_complex<double, std::uint64_t>(value);
    case ElementKind::boolean:
      if (!value.is_boolean()) return std::nullopt;
      return Bytes{std::byte{value.get<bool>()}};
    case ElementKind::text:
      return parse_text(value, type.bytes());
    case ElementKind::utf32:
      return parse_utf32(value, type.bytes());
    case ElementKind::record:
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace weir::storage
