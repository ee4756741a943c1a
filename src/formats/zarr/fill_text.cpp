#include "formats/zarr/fill_text.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/numbers_in_bytes.hpp"
#include "formats/fill_attribute.hpp"
#include "formats/text_bytes.hpp"

namespace weir::storage {
namespace {

using array::ElementKind;

constexpr std::string_view characters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::size_t bits_each = 6;
// 64 bits take 11 characters, and one more completes the last group of four.
constexpr std::size_t characters_of_real = 11;
constexpr char filling = '=';

bool is_real(const array::ElementType& type) {
  return type.kind() == ElementKind::float16 || type.kind() == ElementKind::float32 ||
         type.kind() == ElementKind::float64;
}

// Returns the number's bytes as an integer whose highest byte is the first, from where bits are
// counted.
std::uint64_t bits_of(double value) {
  return big_endian_at<std::uint64_t>(std::as_bytes(std::span(&value, 1)));
}

double real_of_bits(std::uint64_t bits) { return number_at<double>(big_endian(bits)); }

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
    // Two bits of the last character do not belong to the number.
    const bool is_last = i + 1 == characters_of_real;
    bits = is_last ? bits << 4U | value >> 2U : bits << bits_each | value;
  }
  return real_of_bits(bits);
}

// Returns the single number of the attribute, as a double.
std::optional<double> real_of(const Attribute::Value& value) {
  const auto real = numbers_as(ElementKind::float64, value);
  if (!real || attribute_count(*real) != 1) return std::nullopt;
  return std::get<std::vector<double>>(*real).front();
}

bool is_of_text(const array::ElementType& type) {
  return type.kind() == ElementKind::text || type.kind() == ElementKind::utf32;
}

// Returns the element of a type that holds a value; nothing if the type cannot hold it.
std::optional<std::vector<std::byte>> element_of(const Attribute::Value& value,
                                                 const array::ElementType& type) {
  const auto* const text = std::get_if<std::string>(&value);
  if (text == nullptr || !is_of_text(type)) return std::nullopt;
  const auto* const first = reinterpret_cast<const std::byte*>(text->data());
  auto element = type.kind() == ElementKind::utf32
                     ? utf32_of_utf8(*text)
                     : std::optional(std::vector<std::byte>(first, first + text->size()));
  if (!element || std::cmp_greater(element->size(), type.bytes())) return std::nullopt;
  element->resize(static_cast<std::size_t>(type.bytes()));
  return element;
}

}  // namespace

std::optional<std::vector<std::byte>> zarr_fill_of_text(const ArrayDescription& array) {
  const Attribute* const given = find_attribute(array.attributes, fill_attribute_name);
  return given == nullptr ? std::nullopt : element_of(given->value, array.type);
}

std::optional<Attribute> fill_attribute_of_text(const array::ElementType& type,
                                                std::span<const std::byte> element) {
  if (type.kind() == ElementKind::utf32) {
    auto text = utf8_of_utf32(element);
    return text ? std::optional(Attribute{fill_attribute_name, *std::move(text)}) : std::nullopt;
  }
  if (type.kind() != ElementKind::text) return std::nullopt;
  const std::string_view all(reinterpret_cast<const char*>(element.data()), element.size());
  return Attribute{fill_attribute_name, std::string(all.substr(0, all.find('\0')))};
}

bool has_zarr_fill_form(const Attribute::Value& value, const array::ElementType& array) {
  if (is_of_text(array)) return element_of(value, array).has_value();
  if (is_real(array)) return real_of(value).has_value();
  return attribute_count(value) == 1 && numbers_as(array.kind(), value).has_value();
}

std::vector<Attribute> with_zarr_fill(const ArrayDescription& array) {
  std::vector<Attribute> attributes = array.attributes;
  if (is_of_text(array.type)) {
    std::erase_if(attributes, [](const auto& one) { return one.name == fill_attribute_name; });
  }
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
    // For an array of float16 the attribute is a float32, because attributes have no float16.
    const Attribute::Value wide = std::vector<double>{*real};
    one.value = numbers_as(ElementKind::float32, wide).value_or(wide);
  }
  // The document's own fill value does not become an attribute.
  array.fill.clear();
  return with_fill_attribute(array);
}

}  // namespace weir::storage
