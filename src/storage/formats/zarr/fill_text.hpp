// The attribute "_FillValue" as xarray has it in stores of Zarr v3: of an array of real numbers the
// bytes of a float64 in the 64 characters of RFC 4648, as JSON has no NaN; of others a number.
#pragma once

#include <vector>

#include "storage/formats/file_description.hpp"

namespace weir::storage {

// Whether an array of the type can have the attribute with this value: one number that it holds.
[[nodiscard]] bool has_zarr_fill_form(const Attribute::Value& value,
                                      const array::ElementType& array);

// The array's attributes as they are in its document, and back. What is found is a number of the
// array's type, where that holds it; other values stay as they are.
[[nodiscard]] std::vector<Attribute> with_zarr_fill(const ArrayDescription& array);
[[nodiscard]] std::vector<Attribute> without_zarr_fill(ArrayDescription array);

}  // namespace weir::storage
