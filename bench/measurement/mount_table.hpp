// Finds the mount that holds a path, in the text of /proc/self/mountinfo.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace weir::bench {

struct Mount {
  std::string device;   // "254:0", the st_dev of its files
  std::string point;    // where it is mounted
  std::string options;  // of this mount and of its file system, joined by commas, each once
  std::string type;     // "ext4", "fuse.glusterfs", …
  std::string source;   // "/dev/vda", "server:/export", …
};

// The mount that holds `path`, an absolute path without symbolic links: the longest mount point
// that is a prefix of it, and of those at the same point the last, which covers the others. Pure.
[[nodiscard]] std::optional<Mount> find_mount(std::string_view mountinfo, std::string_view path);

// The mount that holds a directory of this machine, links resolved; nothing where it is not there.
[[nodiscard]] std::optional<Mount> mount_of(const std::string& directory);

// A name as it is: the kernel writes blanks, newlines and backslashes in names of mounts as three
// octal digits, "\\040".
[[nodiscard]] std::string plain_path(std::string_view text);

}  // namespace weir::bench
