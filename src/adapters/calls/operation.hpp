// The kinds of file system operations that are counted.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weir::calls {

enum class Operation : std::uint8_t {
  open,
  close,
  stat,
  access,
  read_link,
  make_folder,
  remove_folder,
  remove_file,
  rename,
  link,
  change_mode,
  change_times,
  truncate,
  sync,
  attribute,
  open_folder,
  stat_file_system,
  read,
  write,
};

inline constexpr std::size_t operations = 19;

// The names used in records, in the order of the enumeration.
inline constexpr std::array<std::string_view, operations> operation_names = {
    "open",   "close",   "stat",   "access", "readlink", "mkdir",    "rmdir",
    "unlink", "rename",  "link",   "chmod",  "utime",    "truncate", "sync",
    "xattr",  "opendir", "statfs", "read",   "write"};

[[nodiscard]] constexpr bool moves_bytes(Operation operation) {
  return operation == Operation::read || operation == Operation::write;
}

}  // namespace weir::calls
