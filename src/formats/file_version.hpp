// Identifies the committed state of the file at a path without reading its header. A run that adds
// steps thereby notices that another run has replaced the file or added steps to it, even if the
// file system has no locks.
#pragma once

#include <optional>
#include <string>

#include "common/status.hpp"
#include "system/known_file.hpp"

namespace weir::storage {

struct FileVersion {
  std::optional<FileIdentity> file;
  // Bytes that every commit changes: the beginning of an HDF5 file (its superblock has the file's
  // length) or of a NetCDF file (the number of records), or the identity of the document that lies
  // in the folder (Zarr) or beside the file (raw).
  std::string state;

  friend bool operator==(const FileVersion&, const FileVersion&) = default;
};

// Returns the version of the file at PATH, whatever its format; empty if nothing is there. Fails if
// something is there that cannot be read.
[[nodiscard]] Result<FileVersion> version_of(const std::string& path);

}  // namespace weir::storage
