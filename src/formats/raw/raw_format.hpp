// Raw files: PATH has the elements of all arrays and nothing else, PATH.json says where they are.
#pragma once

#include <string>

#include "formats/format.hpp"

namespace weir::storage {

[[nodiscard]] const Format* raw_format();

// Makes durable what is needed to find the file of an array that is written in place after a crash
// of the system: its document, and the names of its data files in their folders.
Status sync_raw_names(const std::string& path, const DataFiles& files);

}  // namespace weir::storage
