// Tells which committed state of a file is at a path, without reading its header, so that a run
// which adds steps notices that another run has replaced the file or added steps to it, also where
// the file system has no locks.
#pragma once

#include <optional>
#include <string>

#include "storage/known_file.hpp"

namespace weir::storage {

struct FileVersion {
  std::optional<FileIdentity> file;
  // What every commit changes: the beginning of an HDF5 file (where its superblock says how long it
  // is) or of a NetCDF file (the number of records), or which document lies in the folder (Zarr) or
  // beside the file (raw).
  std::string state;

  friend bool operator==(const FileVersion&, const FileVersion&) = default;
};

// The version of the file at PATH, whatever its format; empty where there is nothing.
[[nodiscard]] FileVersion version_of(const std::string& path);

}  // namespace weir::storage
