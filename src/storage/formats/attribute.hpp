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

// One byte, as in memory.
enum class Truth : std::uint8_t { no, yes };

// Text is UTF-8. A unit is the attribute "units", as all of NetCDF's conventions have it.
struct Attribute {
  // A single number is a list of one: formats tell these apart in different ways, or not at all.
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

// A list of numbers or truth values.
template <typename List>
concept Numbers =
    !std::is_same_v<List, std::string> && !std::is_same_v<List, std::vector<std::string>>;

// "text", "texts", or the name of the numbers' type: "int16", "bool".
[[nodiscard]] const char* attribute_type(const Attribute::Value& value);
// Bytes of a text; texts or numbers of a list.
[[nodiscard]] std::size_t attribute_count(const Attribute::Value& value);
// Each of several texts takes 16 bytes more, as HDF5 has it.
[[nodiscard]] std::size_t attribute_bytes(const Attribute::Value& value);

// Nothing for texts.
[[nodiscard]] std::optional<array::ElementKind> number_kind(const Attribute::Value& value);
// As they lie in memory, one after the other; nothing for texts.
[[nodiscard]] std::span<const std::byte> number_bytes(const Attribute::Value& value);
// The value whose numbers lie in memory as `bytes`. Nothing for types that no attribute has:
// float16, complex numbers, records.
[[nodiscard]] std::optional<Attribute::Value> numbers_of(array::ElementKind kind,
                                                         std::span<const std::byte> bytes);
// The value's numbers in the type `kind`. Nothing where that type does not hold one of them
// exactly, and for texts. Truth values count as 0 and 1, and any NaN stands for any other.
[[nodiscard]] std::optional<Attribute::Value> numbers_as(array::ElementKind kind,
                                                         const Attribute::Value& value);

// Null where there is none of this name.
[[nodiscard]] const Attribute* find_attribute(const std::vector<Attribute>& attributes,
                                              std::string_view name);

[[nodiscard]] bool is_utf8(std::string_view text);

}  // namespace weir::storage
