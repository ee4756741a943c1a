// Attributes of arrays, groups and files, and their values: texts, and numbers of a type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "array/element_type.hpp"

namespace weir::storage {

// A truth value: one byte, as in memory.
enum class Truth : std::uint8_t { no, yes };

// An attribute. Texts are UTF-8. A unit is the attribute "units", as in all of NetCDF's
// conventions.
struct Attribute {
  // A single number is a list with one element: formats distinguish these in different ways, or
  // not.
  using Value =
      std::variant<std::string, std::vector<std::string>, std::vector<std::int8_t>,
                   std::vector<std::int16_t>, std::vector<std::int32_t>, std::vector<std::int64_t>,
                   std::vector<std::uint8_t>, std::vector<std::uint16_t>,
                   std::vector<std::uint32_t>, std::vector<std::uint64_t>, std::vector<float>,
                   std::vector<double>, std::vector<Truth>>;

  std::string name;
  Value value;

  friend bool operator==(const Attribute&, const Attribute&) = default;
};

// A list of numbers or truth values, not of texts.
template <typename List>
concept Numbers =
    !std::is_same_v<List, std::string> && !std::is_same_v<List, std::vector<std::string>>;

// Returns "text", "texts", or the name of the numbers' type, such as "int16" or "bool".
[[nodiscard]] const char* attribute_type(const Attribute::Value& value);
// Returns the bytes of a text, or the number of elements of a list.
[[nodiscard]] std::size_t attribute_count(const Attribute::Value& value);
// Returns the bytes of the value. In a list of texts each text takes 16 more bytes, as in HDF5.
[[nodiscard]] std::size_t attribute_bytes(const Attribute::Value& value);

// Returns the type of the numbers; nothing for texts.
[[nodiscard]] std::optional<array::ElementKind> number_kind(const Attribute::Value& value);
// Returns the numbers' bytes in memory, one number after the other; empty for texts.
[[nodiscard]] std::span<const std::byte> number_bytes(const Attribute::Value& value);
// Returns the value whose numbers have these bytes in memory. Returns nothing for types that
// attributes cannot have: float16, complex numbers, records.
[[nodiscard]] std::optional<Attribute::Value> numbers_of(array::ElementKind kind,
                                                         std::span<const std::byte> bytes);
// Converts the value's numbers to the type `kind`. Returns nothing for texts, and if the type
// cannot hold one of the numbers exactly. Truth values count as 0 and 1, and all NaNs count as
// equal.
[[nodiscard]] std::optional<Attribute::Value> numbers_as(array::ElementKind kind,
                                                         const Attribute::Value& value);

// Returns the attribute of this name; null if there is none.
[[nodiscard]] const Attribute* find_attribute(const std::vector<Attribute>& attributes,
                                              std::string_view name);

[[nodiscard]] bool is_utf8(std::string_view text);

}  // namespace weir::storage
