// How a new file is to lie on its storage, for file systems that let a program choose: Lustre, by
// the command `lfs`, and CephFS, by the extended attributes ceph.file.layout and ceph.dir.layout.
// Both take a layout only as long as a file is empty; a folder's is that of files made in it.
#pragma once

#include <cstdint>
#include <string>

#include "common/status.hpp"
#include "storage/mounts.hpp"

namespace weir::storage {

struct Striping {
  static constexpr std::int64_t all_targets = -1;

  std::int64_t count = 0;         // targets that have parts of the file; 0: as the folder has it
  std::int64_t stripe_bytes = 0;  // contiguous on one target; 0: as the folder has it
  std::int64_t first_target = 0;  // the index of the first one, plus 1; 0: any
  std::string pool = {};          // NOLINT(readability-redundant-member-init): "": the folder's

  // Whether nothing is asked for.
  [[nodiscard]] bool empty() const { return *this == Striping(); }
  // For comparing ranks' calls, and for errors.
  [[nodiscard]] std::string text() const;
  // Fails on numbers that no file system takes, and on names of pools with other than letters,
  // digits, '.', '_' and '-'.
  [[nodiscard]] Status check() const;

  friend bool operator==(const Striping&, const Striping&) = default;
};

// Makes an empty file of this layout, where none is; does nothing when nothing is asked for. Error
// `unsupported`, with the file system's type, where files have no layout that can be chosen.
[[nodiscard]] Status make_striped_file(const std::string& path, const Striping& striping,
                                       const std::string& mounts = mounts_of_this_process);
// Gives the layout to files that are made in the folder, and in folders that are made in it, from
// now on.
[[nodiscard]] Status stripe_folder(const std::string& path, const Striping& striping,
                                   const std::string& mounts = mounts_of_this_process);

}  // namespace weir::storage
