// The attribute "_FillValue", by which readers that follow NetCDF's conventions know the elements
// that are missing. It goes with a fill value that a program asked for or that a NetCDF file has;
// not with what HDF5 and Zarr have for every array, which says nothing of its elements.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "storage/formats/file_description.hpp"

namespace weir::storage {

inline constexpr const char* fill_attribute_name = "_FillValue";

// The one that the array has, in the array's own type where that holds its number; without one,
// the array's fill value. Nothing where there is neither, and for fill values of truth values,
// complex numbers, texts and records, of which none is missing by a number.
[[nodiscard]] std::optional<Attribute> fill_attribute(const ArrayDescription& array);

// The attributes of the array, and this one among them where there is one.
[[nodiscard]] std::vector<Attribute> with_fill_attribute(const ArrayDescription& array);

// The element that the array's attribute stands for; empty where there is none.
[[nodiscard]] std::vector<std::byte> fill_by_attribute(const ArrayDescription& array);

}  // namespace weir::storage
