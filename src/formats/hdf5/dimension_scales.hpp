// Names of dimensions, as NetCDF-4 keeps them: a dimension is a dataset at the file's root that is
// a dimension scale, and arrays are attached to it. A one-dimensional array with the name of its
// dimension is itself the scale (a coordinate). Otherwise the scale holds nothing and says so in
// NetCDF-4's words, so that tools show a dimension and not an array.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "formats/hdf5/library.hpp"
#include "formats/hdf5/write_driver.hpp"
#include "stored/file_description.hpp"

namespace weir::storage {

// Fails if a dimension has the name of a group, or of an array that is not its coordinate.
Status check_hdf5_dimensions(const FileDescription& file);

// Writes the scales and attaches the arrays to them. Called after all datasets of the description
// were made.
Status write_hdf5_dimensions(hid_t file, const FileDescription& description,
                             const std::string& path, Hdf5Writing& writing);

// Returns whether a dataset is a scale without data.
[[nodiscard]] bool is_hdf5_dimension_only(hid_t dataset);

// Cache of the names of a file's scales. To find the name of an object behind a reference, the
// library searches the whole file.
class Hdf5ScaleNames {
 public:
  // Returns the name of a scale; "" if it has none.
  [[nodiscard]] const std::string& name_of(hid_t scale);

 private:
  std::map<std::string, std::string> known_;  // by the library's identification of the object
};

// Returns one name per dimension, or none if a dimension has no scale.
[[nodiscard]] std::vector<std::string> read_hdf5_dimensions(hid_t dataset, int dimensions,
                                                            Hdf5ScaleNames& scales);

}  // namespace weir::storage
