// The JSON form of one element in Zarr's documents and those of raw files: numbers, true and false,
// [real, imaginary], "NaN", "Infinity", "-Infinity", and "0x..." with the bits of all other floats
// (other NaNs, and float16 except 0). Text of bytes is in base64, text of characters is a string;
// both omit trailing zeros.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "array/element_type.hpp"
#include "formats/json.hpp"

namespace weir::storage {

// Returns the JSON form of `element`, which has as many bytes as the type. Records have no JSON
// form and give null.
[[nodiscard]] Json fill_value_json(const array::ElementType& type,
                                   const std::vector<std::byte>& element);

// Parses an element. Returns nothing if the value is not an element of the type.
[[nodiscard]] std::optional<std::vector<std::byte>> parse_fill_value(const array::ElementType& type,
                                                                     const Json& value);

}  // namespace weir::storage
