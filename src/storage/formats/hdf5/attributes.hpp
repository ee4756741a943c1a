// Attributes of a dataset or group.
#pragma once

#include <string>
#include <vector>

#include "storage/formats/file_description.hpp"
#include "storage/formats/hdf5/library.hpp"

namespace weir::storage {

// The attribute of the root group that holds what FileDescription::alignment was.
inline constexpr const char* hdf5_alignment_attribute = "_weir_alignment";

// Text of fixed length, several of variable length, all in UTF-8; a single number as a scalar,
// several as a list; truth values as h5py has them.
Status write_hdf5_attributes(hid_t object, const std::vector<Attribute>& attributes,
                             const std::string& path);

// The most attributes that an array's header holds; with more of them the library makes an index,
// which takes several writes to change.
inline constexpr unsigned most_hdf5_attributes_in_header = 64;

// Adds attributes to an array of a file that readers see, or changes values, so that each write of
// the array's header leaves a whole one. Fails where that cannot be: where the library keeps the
// attributes in an index, or would, and for a value of another type or length than it has.
Status set_hdf5_attributes_in_place(hid_t dataset, const GroupDescription& owner,
                                    const std::string& path);

// How much of an object is read: a hostile file may hold any number of attributes.
struct Hdf5AttributeLimits {
  static constexpr std::size_t most_attributes_read = 16384;  // of one object
  static constexpr std::size_t most_bytes_read = 1 << 20;     // of one attribute

  std::size_t attributes = most_attributes_read;
  std::size_t bytes = most_bytes_read;
};

// Shows texts and lists of texts, and numbers and lists of numbers of the types that attributes
// have; names the others as left out. Attributes in which dimension scales, NetCDF-4 and Weir keep
// their own affairs are in neither list. `owner`: the name of the object, for what is left out.
[[nodiscard]] AttributesFound read_hdf5_attributes(hid_t object, const std::string& owner,
                                                   const Hdf5AttributeLimits& limits = {});

}  // namespace weir::storage
