// The striping of a new file on file systems that let a program choose it: Lustre, by the command
// `lfs`, and CephFS, by the extended attributes ceph.file.layout and ceph.dir.layout. Both accept a
// layout only while a file is empty. The layout of a folder applies to files that are created in
// it.
#pragma once

#include <cstdint>
#include <string>

#include "common/status.hpp"
#include "system/mounts.hpp"

namespace weir::storage {

struct Striping {
  static constexpr std::int64_t all_targets = -1;

  std::int64_t count = 0;         // number of targets; 0: the folder's
  std::int64_t stripe_bytes = 0;  // contiguous bytes on one target; 0: the folder's
  std::int64_t first_target = 0;  // the index of the first target, plus 1; 0: any
  std::string pool = {};          // NOLINT(readability-redundant-member-init): "": the folder's

  // Returns whether no property is specified.
  [[nodiscard]] bool empty() const { return *this == Striping(); }
  // Returns a text by which the calls of ranks are compared, and which appears in errors.
  [[nodiscard]] std::string text() const;
  // Fails on numbers that no file system accepts, and on names of pools that contain characters
  // other than letters, digits, '.', '_' and '-', begin with '-', or have more than 255 characters.
  [[nodiscard]] Status check() const;

  friend bool operator==(const Striping&, const Striping&) = default;
};

// Creates an empty file with this layout at a path at which no file exists; does nothing if
// `striping` is empty. Fails with `unsupported` and the file system's type if the layout of files
// cannot be chosen there.
[[nodiscard]] Status make_striped_file(const std::string& path, const Striping& striping,
                                       const std::string& mounts = mounts_of_this_process);
// Applies the layout to all files that are created from now on in the folder, and in folders that
// are created in it.
[[nodiscard]] Status stripe_folder(const std::string& path, const Striping& striping,
                                   const std::string& mounts = mounts_of_this_process);

}  // namespace weir::storage
