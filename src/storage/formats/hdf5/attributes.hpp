// Attributes of a dataset or group.
#pragma once

#include <string>
#include <vector>

#include "storage/formats/file_description.hpp"
#include "storage/formats/hdf5/library.hpp"

namespace weir::storage {

// Of the root group: what FileDescription::alignment was.
inline constexpr const char* hdf5_alignment_attribute = "_weir_alignment";

// Text of fixed length in UTF-8; a single number as a scalar, several as a list.
Status write_hdf5_attributes(hid_t object, const std::vector<Attribute>& attributes,
                             const std::string& path);

// Those of text and numbers. Others, very long ones, and those in which dimension scales and
// NetCDF-4 keep their own affairs are left out.
[[nodiscard]] std::vector<Attribute> read_hdf5_attributes(hid_t object);

}  // namespace weir::storage
