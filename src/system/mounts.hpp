// Finds the file system of a path in the system's mount table.
#pragma once

#include <optional>
#include <string>

namespace weir::storage {

struct Mount {
  std::string source;  // "/dev/sda1", "10.0.0.1@tcp:/scratch"
  std::string point;
  std::string type;  // "ext4", "lustre", "nfs4", "fuse.ceph-fuse"
};

inline constexpr const char* mounts_of_this_process = "/proc/self/mounts";

// Returns the mount that contains `path`, which exists, or nothing if the table cannot be read.
[[nodiscard]] std::optional<Mount> mount_of(const std::string& path,
                                            const std::string& mounts = mounts_of_this_process);

}  // namespace weir::storage
