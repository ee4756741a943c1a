// Finds the file system that a path lies in, by the system's table of mounts.
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

// The mount that holds `path`, which exists. Nothing where the table cannot be read.
[[nodiscard]] std::optional<Mount> mount_of(const std::string& path,
                                            const std::string& mounts = mounts_of_this_process);

}  // namespace weir::storage
