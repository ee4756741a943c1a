// One element as JSON has it in documents of Zarr and raw files: numbers, true and false, [real,
// imaginary], "NaN", "Infinity", "-Infinity", and for other floats their bits as "0x..."; text of
// bytes in base64, characters as a string, both without the zeros behind them.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "array/element_type.hpp"
#include "storage/json.hpp"

namespace weir::storage {

// `element` has as many bytes as the type; records have no such form and give null.
[[nodiscard]] Json fill_value_json(const array::ElementType& type,
                                   const std::vector<std::byte>& element);

// Nothing for what is no element of the type.
[[nodiscard]] std::optional<std::vector<std::byte>> parse_fill_value(const array::ElementType& type,
                                                                     const Json& value);

}  // namespace weir::storage
