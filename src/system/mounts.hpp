// Finds the mount that holds a path, in the text of /proc/self/mountinfo.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace weir::storage {

struct Mount {
  std::string device;   // "254:0", the st_dev of its files
  std::string point;    // mount point
  std::string options;  // of this mount and of its file system, joined by commas, each once
  std::string type;     // "ext4", "lustre", "fuse.glusterfs", …
  std::string source;   // "/dev/vda", "10.0.0.1@tcp:/scratch", …
};

inline constexpr const char* mounts_of_this_process = "/proc/self/mountinfo";

// Returns the mount that holds `path`, which must be absolute and without symbolic links. It is the
// one with the longest mount point that is a prefix of `path`; of several at the same point it is
// the last, which covers the others. Pure.
[[nodiscard]] std::optional<Mount> find_mount(std::string_view mountinfo, std::string_view path);

// Returns the mount that holds a file or folder, after resolving links, by the file `mounts`.
// Returns nothing if one of them does not exist.
[[nodiscard]] std::optional<Mount> mount_of(const std::string& path,
                                            const std::string& mounts = mounts_of_this_process);

// Decodes a name of a mount: the kernel writes blanks, newlines and backslashes as three octal
// digits, "\\040".
[[nodiscard]] std::string plain_path(std::string_view text);

}  // namespace weir::storage
