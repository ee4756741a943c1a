// Opens a file of any format: which one it is, its content says, not its name.
#pragma once

#include <string>
#include <string_view>

#include "common/status.hpp"
#include "storage/formats/format.hpp"

namespace weir::storage {

struct OpenedFile {
  std::string_view format;  // "hdf5", "cdf5", "cdf2", "cdf1", "zarr", "raw"
  std::string path;         // without the .json of a raw file's document
  FileMap map;
};

// PATH of an HDF5 or NetCDF file, of a Zarr folder, of a raw array or of its document PATH.json.
// Fails when it is none of these, and as Format::open() does.
[[nodiscard]] Result<OpenedFile> open_any(const std::string& path);

// Whether readers of PATH see a file whose data still have their temporary name, as a commit that
// failed half-way may leave one.
[[nodiscard]] bool is_seen_unrenamed(const std::string& path);

}  // namespace weir::storage
