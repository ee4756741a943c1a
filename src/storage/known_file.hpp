// Whether a path still leads to the file that was read or made.
//
// A file that is open here by its extent map may be replaced meanwhile: a run that is started again
// renames another one to its path. The map says nothing of that one's bytes. So the file's identity
// is kept with the map, and each data file that is opened later is compared with it: descriptors
// that are open keep to the old file, and a path that leads to another file is an error.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/status.hpp"
#include "storage/engines/file.hpp"

namespace weir::storage {

// What tells a file or folder from any other that has had its path. Alike on all nodes, so without
// the number of the device, which each node gives by itself.
struct FileIdentity {
  std::uint64_t inode = 0;
  // When it was made, where the file system keeps that: inodes are given again. Else 0.
  std::int64_t birth_seconds = 0;
  std::int64_t birth_nanoseconds = 0;

  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

// The identity of a file; nothing where there is none, and on FUSE, where some file systems number
// files anew while they are in use. Links are followed.
[[nodiscard]] std::optional<FileIdentity> identity_of(const std::string& path);
[[nodiscard]] std::optional<FileIdentity> identity_of(int descriptor);

// The file or folder that a map was read from or made for.
struct KnownFile {
  std::string path;
  FileIdentity identity;

  friend bool operator==(const KnownFile&, const KnownFile&) = default;
};

// `opened`: how opening `path`, a data file of the known one, went just now. Fails, and says what
// to do, where `known` is no longer at its path. A data file that is missing is looked at, too: in
// a folder that was replaced, it does not stand for the fill value. Null is never replaced.
[[nodiscard]] Status check_is_known(const KnownFile* known, const std::string& path,
                                    const Result<File>& opened);

}  // namespace weir::storage
