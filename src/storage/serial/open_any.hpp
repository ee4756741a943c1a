// Opens a file of any format: which one it is, its content says, not its name.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "common/status.hpp"
#include "storage/formats/file_version.hpp"
#include "storage/formats/format.hpp"
#include "storage/known_file.hpp"

namespace weir::storage {

struct OpenedFile {
  std::string_view format;  // "hdf5", "cdf5", "cdf2", "cdf1", "zarr", "raw"
  std::string path;         // without the .json of a raw file's document
  FileMap map;
  // At most as new as the map: who changes the file compares before.
  FileVersion version;
};

// PATH of an HDF5 or NetCDF file, of a Zarr folder, of a raw array or of its document PATH.json.
// Fails when it is none of these, and as Format::open() does. The map says which file it was read
// from (DataFiles::known()).
[[nodiscard]] Result<OpenedFile> open_any(const std::string& path);

// The file or folder that data files of a map of PATH belong to. Nothing where there is none, or
// its identity is not known.
[[nodiscard]] std::optional<KnownFile> known_file_of(const FileMap& map, const std::string& path);
// All arrays of the map are of this file.
void set_known_file(FileMap& map, const std::optional<KnownFile>& known);

// Whether readers of PATH see a file whose data still have their temporary name, as a commit that
// failed half-way may leave one.
[[nodiscard]] bool is_seen_unrenamed(const std::string& path);

}  // namespace weir::storage
