// Reads and writes attributes of a dataset or group.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "formats/hdf5/library.hpp"
#include "stored/file_description.hpp"

namespace weir::storage {

// The attribute of the root group that holds the file's FileDescription::alignment.
inline constexpr const char* hdf5_alignment_attribute = "_weir_alignment";

// Writes attributes. A text has fixed length, several texts have variable length, all in UTF-8. A
// single number is a scalar, several numbers are a list. Truth values are stored as by h5py.
Status write_hdf5_attributes(hid_t object, const std::vector<Attribute>& attributes,
                             const std::string& path);

// Largest number of attributes in an array's header. If there are more, the library makes an index,
// which takes several writes to change.
inline constexpr unsigned most_hdf5_attributes_in_header = 64;

// Adds attributes to an array of a file that readers see, or changes values, so that each write of
// the array's header leaves a complete header. Fails if that is impossible: if the library keeps
// the attributes in an index, or would have to, and for a value of another type or length than the
// existing one.
Status set_hdf5_attributes_in_place(hid_t dataset, const GroupDescription& owner,
                                    const std::string& path);

// Returns the attribute of this name; nothing if there is none, or if it is no single text.
[[nodiscard]] std::optional<std::string> read_hdf5_text_attribute(hid_t object, const char* name);

// Limits for reading an object, because a malicious file may have any number of attributes.
struct Hdf5AttributeLimits {
  static constexpr std::size_t most_attributes_read = 16384;  // of one object
  static constexpr std::size_t most_bytes_read = 1 << 20;     // of one attribute

  std::size_t attributes = most_attributes_read;
  std::size_t bytes = most_bytes_read;
};

// Reads attributes: texts and lists of texts, and numbers and lists of numbers of the types that
// attributes have. Lists all others as left out, except attributes that dimension scales, NetCDF-4
// and Weir use internally, which are in neither list. `owner` is the object's name in the list of
// left-out attributes.
[[nodiscard]] AttributesFound read_hdf5_attributes(hid_t object, const std::string& owner,
                                                   const Hdf5AttributeLimits& limits = {});

}  // namespace weir::storage
