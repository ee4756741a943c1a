// Makes and checks the files of a raw array, by one rank.
#pragma once

#include <string>

#include "common/status.hpp"
#include "formats/raw_array.hpp"

namespace weir::storage {

// Makes the data files, empty and then with their full size (without taking up space), and finally
// the document, so that an array with a document has its files. The directories must exist. Called
// by one rank.
Status create_raw_files(const RawArray& array, const std::string& path);
// Makes durable what is needed to find the array after a crash of the system: the document, and the
// names of the files in their folders. Called by one rank.
Status sync_raw_names(const RawArray& array, const std::string& path);
// Reads the document and compares it with the sizes of the last file and of one file in each
// directory. Called by one rank.
Result<RawArray> open_raw_files(const std::string& path);

}  // namespace weir::storage
