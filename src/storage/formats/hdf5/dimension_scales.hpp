// Names of dimensions, as NetCDF-4 keeps them: a dimension is a dataset at the file's root that is
// a dimension scale, and arrays are attached to it. A one-dimensional array of its dimension's name
// is the scale itself (a coordinate); otherwise the scale holds nothing and says so in NetCDF-4's
// words, so that tools show a dimension and not an array.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "storage/formats/file_description.hpp"
#include "storage/formats/hdf5/library.hpp"
#include "storage/formats/hdf5/write_driver.hpp"

namespace weir::storage {

// Fails when a dimension has the name of an array or group that is no coordinate of it.
Status check_hdf5_dimensions(const FileDescription& file);

// After all datasets of the description were made.
Status write_hdf5_dimensions(hid_t file, const FileDescription& description,
                             const std::string& path, Hdf5Writing& writing);

// Whether a dataset is a scale without data.
[[nodiscard]] bool is_hdf5_dimension_only(hid_t dataset);

// The names of a file's scales that were asked for. The library looks through the whole file for
// the name of what a reference leads to.
class Hdf5ScaleNames {
 public:
  // "" where it has none.
  [[nodiscard]] const std::string& name_of(hid_t scale);

 private:
  std::map<std::string, std::string> known_;  // by what the library knows the object by
};

// One name per dimension, or none when a dimension has no scale.
[[nodiscard]] std::vector<std::string> read_hdf5_dimensions(hid_t dataset, int dimensions,
                                                            Hdf5ScaleNames& scales);

}  // namespace weir::storage
