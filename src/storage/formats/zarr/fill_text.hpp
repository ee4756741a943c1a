// The attribute "_FillValue" as xarray has it in stores of Zarr v3: of an array of real numbers the
// bytes of a float64 in the 64 characters of RFC 4648, as JSON has no NaN; of others a number.
// xarray opens no store in which an array of text has the attribute: such an array has it as the
// document's fill value, and the root's document says that it is meant as the attribute.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "storage/formats/file_description.hpp"

namespace weir::storage {

// Whether an array of the type can have the attribute with this value: one number, or of an array
// of text one, that it holds.
[[nodiscard]] bool has_zarr_fill_form(const Attribute::Value& value,
                                      const array::ElementType& array);

// The element that the attribute of an array of text stands for; nothing where it has none.
[[nodiscard]] std::optional<std::vector<std::byte>> zarr_fill_of_text(
    const ArrayDescription& array);
// The attribute again.
[[nodiscard]] std::optional<Attribute> fill_attribute_of_text(const array::ElementType& type,
                                                              std::span<const std::byte> element);

// The array's attributes as they are in its document, and back. What is found is a number of the
// array's type, where that holds it; other values stay as they are.
[[nodiscard]] std::vector<Attribute> with_zarr_fill(const ArrayDescription& array);
[[nodiscard]] std::vector<Attribute> without_zarr_fill(ArrayDescription array);

}  // namespace weir::storage
