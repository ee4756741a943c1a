// Chooses names for dimensions that have none. Readers such as xarray need a name for every
// dimension, and NetCDF cannot store a dimension without a name.
#pragma once

#include "stored/file_description.hpp"

namespace weir::storage {

// Names the dimensions of arrays that have no names, or empty ones. The dimension along which
// arrays grow gets its name from the first array that names it, or "step". Every other dimension is
// called "dim_LENGTH"; the second of the same length in one array is called "dim_LENGTH_2".
// Dimensions with the same name have the same length. A name that is already taken, by a dimension
// of another length, an array or a group, also gets a number appended.
[[nodiscard]] FileDescription with_dimension_names(FileDescription file);

}  // namespace weir::storage
