// A check whether a path still leads to the file that was read or created.
//
// A file whose extent map this process holds may be replaced by another one, for example when a
// restarted run renames a new file to its path. The map does not describe the bytes of the new
// file. The file's identity is therefore kept with the map and is checked whenever a data file is
// opened later. Open descriptors keep referring to the old file; a path that leads to another file
// is an error.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/status.hpp"
#include "system/file.hpp"

namespace weir::storage {

// Distinguishes a file or folder from any other that has had its path. The identity is equal on all
// nodes. It therefore does not contain the device number, which each node assigns by itself.
struct FileIdentity {
  std::uint64_t inode = 0;
  // Creation time if the file system records it, otherwise 0. It is needed because inode numbers
  // are reused.
  std::int64_t birth_seconds = 0;
  std::int64_t birth_nanoseconds = 0;

  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

// Returns the identity of a file. Returns nothing if there is no file, and on FUSE, where some file
// systems renumber files while they are in use. Symbolic links are followed.
[[nodiscard]] std::optional<FileIdentity> identity_of(const std::string& path);
[[nodiscard]] std::optional<FileIdentity> identity_of(int descriptor);

// The file or folder from which a map was read or for which it was made.
struct KnownFile {
  std::string path;
  FileIdentity identity;

  friend bool operator==(const KnownFile&, const KnownFile&) = default;
};

// Fails if the known file is no longer at its path; the error says what to do. `opened` is the
// result of opening `path`, a data file of the known file. The check also applies if the data file
// is missing, because in a folder that was replaced, a missing file does not stand for the fill
// value. Succeeds if `known` is null.
[[nodiscard]] Status check_is_known(const KnownFile* known, const std::string& path,
                                    const Result<File>& opened);

}  // namespace weir::storage
