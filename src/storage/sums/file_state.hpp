// The file that has a name, and when it was changed: to find out whether it is still the one that
// was read, without reading it again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace weir::storage {

struct FileState {
  std::uint64_t device = 0;
  std::uint64_t file = 0;  // another one where it was replaced
  std::int64_t bytes = 0;
  std::int64_t seconds = 0;  // of its last change
  std::int64_t nanoseconds = 0;

  [[nodiscard]] bool is_missing() const { return *this == FileState(); }
  friend bool operator==(const FileState&, const FileState&) = default;
};

// FileState() where there is no file, nothing where it cannot be looked at.
[[nodiscard]] std::optional<FileState> state_of_file(const std::string& path);
// The state of an open file, which may have lost its name; nothing where it cannot be looked at.
[[nodiscard]] std::optional<FileState> state_of_file(int descriptor);

}  // namespace weir::storage
