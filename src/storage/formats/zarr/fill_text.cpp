#include "storage/formats/zarr/fill_text.hpp"

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "storage/formats/fill_attribute.hpp"

namespace weir::storage {
namespace {

using array::ElementKind;

constexpr std::string_view characters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::size_t bits_each = 6;
// 64 bits take 11 characters, and one that fills the last group of four.
constexpr std::size_t characters_of_real = 11;
constexpr char filling = '=';

bool is_real(const array::ElementType& type) {
  return type.kind() == ElementKind::float16 || type.kind() == ElementKind::float32 ||
         type.kind() == ElementKind::float64;
}

// The bytes as one number, the first of them its highest: bits are counted from there.
std::uint64_t bits_of(double value) {
  std::array<std::uint8_t, sizeof value> bytes{};
  std::memcpy(bytes.data(), &value, sizeof value);
  std::uint64_t bits = 0;
  for (const std::uint8_t one : bytes) bits = bits << 8U | one;
  return bits;
}

double real_of_bits(std::uint64_t bits) {
  std::array<std::uint8_t, sizeof(double)> bytes{};
  for (auto one = bytes.rbegin(); one != bytes.rend(); ++one, bits >>= 8U) {
    *one = static_cast<std::uint8_t>(bits & 0xffU);
  }
  double value = 0;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

std::string text_of(double value) {
  std::uint64_t bits = bits_of(value);
  std::string text;
  for (std::size_t i = 0; i < characters_of_real; ++i, bits <<= bits_each) {
    text += characters[bits >> (64 - bits_each)];
  }
  return text + filling;
}

std::optional<double> real_of_text(std::string_view text) {
  if (text.size() != characters_of_real + 1 || text.back() != filling) return std::nullopt;
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < characters_of_real; ++i) {
    const std::size_t value = characters.find(text[i]);
    if (value == std::string_view::npos) return std::nullopt;
    // The last character has two bits that are none of the number's.
    const bool is_last = i + 1 == characters_of_real;
    bits = is_last ? bits << 4U | value >> 2U : bits << bits_each | value;
  }
  return real_of_bits(bits);
}

// The one number of the attribute as a real one.
std::optional<double> real_of(const Attribute::Value& value) {
  const auto real = numbers_as(ElementKind::float64, value);
  if (!real || attribute_count(*real) != 1) return std::nullopt;
  return std::get<std::vector<double>>(*real).front();
}

}  // namespace

bool has_zarr_fill_form(const Attribute::Value& value, const array::ElementType& array) {
  if (is_real(array)) return real_of(value).has_value();
  return attribute_count(value) == 1 && numbers_as(array.kind(), value).has_value();
}

std::vector<Attribute> with_zarr_fill(const ArrayDescription& array) {
  std::vector<Attribute> attributes = array.attributes;
  if (!is_real(array.type)) return attributes;
  for (Attribute& one : attributes) {
    if (one.name != fill_attribute_name) continue;
    if (const auto real = real_of(one.value)) one.value = text_of(*real);
  }
  return attributes;
}

std::vector<Attribute> without_zarr_fill(ArrayDescription array) {
  for (Attribute& one : array.attributes) {
    const auto* const text = std::get_if<std::string>(&one.value);
    if (one.name != fill_attribute_name || text == nullptr || !is_real(array.type)) continue;
    const auto real = real_of_text(*text);
    if (!real) continue;
    // An array of float16 has it as a float32, which attributes have.
    const Attribute::Value wide = std::vector<double>{*real};
    one.value = numbers_as(ElementKind::float32, wide).value_or(wide);
  }
  // The document's own fill value makes no attribute.
  array.fill.clear();
  return with_fill_attribute(array);
}

}  // namespace weir::storage
