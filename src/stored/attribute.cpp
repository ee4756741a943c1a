#include "stored/attribute.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <type_traits>
#include <utility>

namespace weir::storage {
namespace {

using array::ElementKind;

template <typename Number>
constexpr ElementKind kind_of() {
  if constexpr (std::is_same_v<Number, std::int8_t>) return ElementKind::int8;
  if constexpr (std::is_same_v<Number, std::int16_t>) return ElementKind::int16;
  if constexpr (std::is_same_v<Number, std::int32_t>) return ElementKind::int32;
  if constexpr (std::is_same_v<Number, std::int64_t>) return ElementKind::int64;
  if constexpr (std::is_same_v<Number, std::uint8_t>) return ElementKind::uint8;
  if constexpr (std::is_same_v<Number, std::uint16_t>) return ElementKind::uint16;
  if constexpr (std::is_same_v<Number, std::uint32_t>) return ElementKind::uint32;
  if constexpr (std::is_same_v<Number, std::uint64_t>) return ElementKind::uint64;
  if constexpr (std::is_same_v<Number, float>) return ElementKind::float32;
  if constexpr (std::is_same_v<Number, double>) return ElementKind::float64;
  return ElementKind::boolean;
}

// Calls `use` with a number of this type. Returns nothing for types that attributes cannot have.
template <typename Use>
std::optional<Attribute::Value> with_number_of(ElementKind kind, const Use& use) {
  switch (kind) {
    case ElementKind::int8:
      return use(std::int8_t{});
    case ElementKind::int16:
      return use(std::int16_t{});
    case ElementKind::int32:
      return use(std::int32_t{});
    case ElementKind::int64:
      return use(std::int64_t{});
    case ElementKind::uint8:
      return use(std::uint8_t{});
    case ElementKind::uint16:
      return use(std::uint16_t{});
    case ElementKind::uint32:
      return use(std::uint32_t{});
    case ElementKind::uint64:
      return use(std::uint64_t{});
    case ElementKind::float32:
      return use(float{});
    case ElementKind::float64:
      return use(double{});
    case ElementKind::boolean:
      return use(Truth{});
    case ElementKind::float16:
    case ElementKind::complex64:
    case ElementKind::complex128:
    case ElementKind::record:
    case ElementKind::text:
    case ElementKind::utf32:
      return std::nullopt;
  }
  return std::nullopt;
}

template <typename To, typename From>
std::optional<To> exactly(From from) {
  if constexpr (std::is_same_v<To, From>) {
    return from;
  } else if constexpr (std::is_same_v<From, Truth>) {
    return static_cast<To>(from == Truth::yes ? 1 : 0);
  } else if constexpr (std::is_same_v<To, Truth>) {
    if (from == From{0}) return Truth::no;
    if (from == From{1}) return Truth::yes;
    return std::nullopt;
  } else if constexpr (std::is_integral_v<To> && std::is_integral_v<From>) {
    if (!std::in_range<To>(from)) return std::nullopt;
    return static_cast<To>(from);
  } else if constexpr (std::is_floating_point_v<To> && std::is_floating_point_v<From>) {
    const auto made = static_cast<To>(from);
    if (std::isnan(from) || static_cast<double>(made) == static_cast<double>(from)) return made;
    return std::nullopt;
  } else {
    // One type is an integer and the other is real. The least integer, and the greatest one plus 1,
    // are powers of two, which every real type can hold.
    using Whole = std::conditional_t<std::is_integral_v<To>, To, From>;
    using Real = std::conditional_t<std::is_integral_v<To>, From, To>;
    const auto real = static_cast<Real>(from);
    const Real least = static_cast<Real>(std::numeric_limits<Whole>::min());
    const Real beyond = std::ldexp(Real{1}, std::numeric_limits<Whole>::digits);
    if (!(real >= least && real < beyond)) return std::nullopt;
    const auto whole = static_cast<Whole>(real);
    if (std::is_integral_v<To>) {
      if (static_cast<Real>(whole) != real) return std::nullopt;
      return static_cast<To>(whole);
    }
    if (whole != static_cast<Whole>(from)) return std::nullopt;
    return static_cast<To>(real);
  }
}

}  // namespace

const char* attribute_type(const Attribute::Value& value) {
  if (std::holds_alternative<std::string>(value)) return "text";
  const auto kind = number_kind(value);
  if (!kind) return "texts";
  // The map has every type that attributes can have, so that the name outlives the value.
  static const std::map<ElementKind, std::string> names = [] {
    std::map<ElementKind, std::string> made;
    for (int number = 0; number <= static_cast<int>(ElementKind::boolean); ++number) {
      const auto one = static_cast<ElementKind>(number);
      made.emplace(one, array::ElementType(one).name());
    }
    return made;
  }();
  return names.at(*kind).c_str();
}

std::size_t attribute_count(const Attribute::Value& value) {
  return std::visit([](const auto& list) { return list.size(); }, value);
}

std::size_t attribute_bytes(const Attribute::Value& value) {
  if (const auto* const text = std::get_if<std::string>(&value)) return text->size();
  if (const auto* const texts = std::get_if<std::vector<std::string>>(&value)) {
    constexpr std::size_t place_bytes = 16;
    std::size_t bytes = place_bytes * texts->size();
    for (const std::string& one : *texts) bytes += one.size();
    return bytes;
  }
  return number_bytes(value).size();
}

std::optional<ElementKind> number_kind(const Attribute::Value& value) {
  return std::visit(
      []<typename List>(const List& /*list*/) -> std::optional<ElementKind> {
        if constexpr (Numbers<List>) return kind_of<typename List::value_type>();
        return std::nullopt;
      },
      value);
}

std::span<const std::byte> number_bytes(const Attribute::Value& value) {
  return std::visit(
      []<typename List>(const List& list) -> std::span<const std::byte> {
        if constexpr (Numbers<List>) return std::as_bytes(std::span(list));
        return {};
      },
      value);
}

std::optional<Attribute::Value> numbers_of(ElementKind kind, std::span<const std::byte> bytes) {
  return with_number_of(kind, [&]<typename Number>(Number /*kind*/) -> Attribute::Value {
    if constexpr (std::is_same_v<Number, Truth>) {
      std::vector<Truth> truths;
      for (const std::byte one : bytes)
        truths.push_back(one == std::byte{0} ? Truth::no : Truth::yes);
      return truths;
    } else {
      std::vector<Number> numbers(bytes.size() / sizeof(Number));
      if (!numbers.empty()) {
        std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(Number));
      }
      return numbers;
    }
  });
}

std::optional<Attribute::Value> numbers_as(ElementKind kind, const Attribute::Value& value) {
  const auto convert = [&]<typename To>(To /*kind*/) -> std::optional<Attribute::Value> {
    return std::visit(
        []<typename List>(const List& list) -> std::optional<Attribute::Value> {
          if constexpr (Numbers<List>) {
            std::vector<To> made;
            made.reserve(list.size());
            for (const auto from : list) {
              const auto one = exactly<To>(from);
              if (!one) return std::nullopt;
              made.push_back(*one);
            }
            return made;
          } else {
            return std::nullopt;
          }
        },
        value);
  };
  return with_number_of(kind, convert);
}

const Attribute* find_attribute(const std::vector<Attribute>& attributes, std::string_view name) {
  const auto found = std::find_if(attributes.begin(), attributes.end(),
                                  [&](const Attribute& one) { return one.name == name; });
  return found == attributes.end() ? nullptr : &*found;
}

bool is_utf8(std::string_view text) {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  for (std::size_t at = 0; at < text.size();) {
    const unsigned first = byte(at);
    const std::size_t more = first < 0x80                     ? 0
                             : first >= 0xc2 && first <= 0xdf ? 1
                             : first >= 0xe0 && first <= 0xef ? 2
                             : first >= 0xf0 && first <= 0xf4 ? 3
                                                              : text.size();
    if (more >= text.size() - at) return false;
    for (std::size_t k = 1; k <= more; ++k) {
      if ((byte(at + k) & 0xc0U) != 0x80U) return false;
    }
    // Rejects overlong forms, surrogates, and codes beyond the last character.
    const unsigned second = more > 0 ? byte(at + 1) : 0;
    if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
        (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f)) {
      return false;
    }
    at += more + 1;
  }
  return true;
}

}  // namespace weir::storage
