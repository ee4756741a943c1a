// The attribute "_FillValue" in xarray's form for stores of Zarr v3. For an array of real numbers
// it is the bytes of a float64 in base64 (RFC 4648), because JSON has no NaN; for other arrays it
// is a number. xarray cannot open a store in which an array of text has the attribute. For such an
// array the value is stored as the document's fill value, and the root's document says that it is
// meant as the attribute.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "stored/file_description.hpp"

namespace weir::storage {

// Returns whether an array of this type can have the attribute with this value: a single number
// that the type can hold or, for an array of text, a single text that it can hold.
[[nodiscard]] bool has_zarr_fill_form(const Attribute::Value& value,
                                      const array::ElementType& array);

// Returns the element for the attribute of an array of text; nothing if the array has no such
// attribute.
[[nodiscard]] std::optional<std::vector<std::byte>> zarr_fill_of_text(
    const ArrayDescription& array);
// Returns the attribute for such an element.
[[nodiscard]] std::optional<Attribute> fill_attribute_of_text(const array::ElementType& type,
                                                              std::span<const std::byte> element);

// Convert the array's attributes to the form in its document, and back. In the second direction the
// value is converted to a number of the array's type, if the type can hold it; other values stay as
// they are.
[[nodiscard]] std::vector<Attribute> with_zarr_fill(const ArrayDescription& array);
[[nodiscard]] std::vector<Attribute> without_zarr_fill(ArrayDescription array);

}  // namespace weir::storage
