// The files of a raw array: made, or looked at, by one rank.
#pragma once

#include <string>

#include "common/status.hpp"
#include "storage/formats/raw_array.hpp"

namespace weir::storage {

// Makes the data files, empty and then of their full size (without taking up space), and the
// document, last: an array whose document is there has its files. The directories are there
// already. For one rank.
Status create_raw_files(const RawArray& array, const std::string& path);
// Makes durable what finds the array after a crash of the system: the document, and the names of
// the files in their folders. For one rank.
Status sync_raw_names(const RawArray& array, const std::string& path);
// Reads the document and compares the sizes of the last file and of one in each directory with it.
// For one rank.
Result<RawArray> open_raw_files(const std::string& path);

}  // namespace weir::storage
