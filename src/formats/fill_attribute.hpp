// The attribute "_FillValue", by which readers that follow NetCDF's conventions recognize missing
// elements. Arrays have it if a program requested their fill value or a NetCDF file has it. The
// fill value that HDF5 and Zarr have for every array does not count, because it says nothing about
// elements.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "stored/file_description.hpp"

namespace weir::storage {

inline constexpr const char* fill_attribute_name = "_FillValue";

// Returns the array's attribute, in the array's own type if that type can hold the value; without
// such an attribute, an attribute with the array's fill value. Returns nothing if there is neither,
// and for fill values of truth values, complex numbers, texts and records, which cannot mark
// missing elements.
[[nodiscard]] std::optional<Attribute> fill_attribute(const ArrayDescription& array);

// Returns the attributes of the array, including this one if there is one.
[[nodiscard]] std::vector<Attribute> with_fill_attribute(const ArrayDescription& array);

// Returns the element that the array's attribute describes; empty if there is no such attribute.
[[nodiscard]] std::vector<std::byte> fill_by_attribute(const ArrayDescription& array);

}  // namespace weir::storage
