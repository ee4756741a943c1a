// Names for dimensions that have none: readers such as xarray need one for every dimension, and
// NetCDF has no dimension without one.
#pragma once

#include "storage/formats/file_description.hpp"

namespace weir::storage {

// Where an array has no names, or an empty one: the dimension along which arrays grow is called as
// in the first array that names it, or "step"; another one "dim_LENGTH", and the second of this
// length in one array "dim_LENGTH_2". Dimensions of one name have one length. A name that is taken,
// by a dimension of another length, an array or a group, gets a number behind it as well.
[[nodiscard]] FileDescription with_dimension_names(FileDescription file);

}  // namespace weir::storage
