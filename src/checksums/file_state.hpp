// The identity of the file at a path and the time of its last change. They show whether the file is
// still the one that was read, without reading it again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace weir::storage {

struct FileState {
  std::uint64_t device = 0;
  std::uint64_t file = 0;  // inode; differs if the file was replaced
  std::int64_t bytes = 0;
  std::int64_t seconds = 0;  // time of the last change
  std::int64_t nanoseconds = 0;

  [[nodiscard]] bool is_missing() const { return *this == FileState(); }
  friend bool operator==(const FileState&, const FileState&) = default;
};

// Returns the state of the file at a path, FileState() if there is no file, or nothing if its state
// cannot be queried.
[[nodiscard]] std::optional<FileState> state_of_file(const std::string& path);
// Returns the state of an open file, which may have lost its name, or nothing if its state cannot
// be queried.
[[nodiscard]] std::optional<FileState> state_of_file(int descriptor);

}  // namespace weir::storage
