// Makes the paths in a process's calls absolute, so that all processes use the same path for a
// file.
#pragma once

#include <array>
#include <climits>
#include <cstddef>
#include <string_view>

namespace weir::calls {

// An absolute path, which owns its memory.
class AbsolutePath {
 public:
  // `folder_descriptor` is as for openat; AT_FDCWD is the current folder.
  AbsolutePath(int folder_descriptor, const char* path);
  AbsolutePath(const AbsolutePath&) = delete;
  AbsolutePath& operator=(const AbsolutePath&) = delete;
  ~AbsolutePath() = default;

  // Returns the path without "." and repeated slashes, and without ".." and the name before it,
  // even if that name is a link: resolving links would double the calls. The result is empty if the
  // path cannot be determined or is too long.
  [[nodiscard]] std::string_view view() const { return {bytes_.data(), size_}; }

 private:
  bool append(std::string_view path);  // returns false if it is too long

  std::array<char, PATH_MAX> bytes_;  // only the first `size_` bytes are initialized
  std::size_t size_ = 0;
};

// Called when the current folder has changed.
void forget_current_folder();

}  // namespace weir::calls
