// Finds the mount that holds a path, in the text of /proc/self/mountinfo.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace weir::bench {

struct Mount {
  std::string device;   // "254:0", the st_dev of its files
  std::string point;    // mount point
  std::string options;  // of this mount and of its file system, joined by commas, each once
  std::string type;     // "ext4", "fuse.glusterfs", …
  std::string source;   // "/dev/vda", "server:/export", …
};

// Returns the mount that holds `path`, which must be absolute and without symbolic links. It is the
// one with the longest mount point that is a prefix of `path`; of several at the same point it is
// the last, which covers the others. Pure.
[[nodiscard]] std::optional<Mount> find_mount(std::string_view mountinfo, std::string_view path);

// Returns the mount that holds a directory of this machine, after resolving links. Returns nothing
// if the directory does not exist.
[[nodiscard]] std::optional<Mount> mount_of(const std::string& directory);

// Decodes a name of a mount: the kernel writes blanks, newlines and backslashes as three octal
// digits, "\\040".
[[nodiscard]] std::string plain_path(std::string_view text);

}  // namespace weir::bench
