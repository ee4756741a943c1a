// Paths as one process's calls name them, made absolute so that all processes name a file alike.
#pragma once

#include <array>
#include <climits>
#include <cstddef>
#include <string_view>

namespace weir::calls {

// In memory of its own, as long as it lives.
class AbsolutePath {
 public:
  // `folder_descriptor` as openat has it; AT_FDCWD is the current folder.
  AbsolutePath(int folder_descriptor, const char* path);
  AbsolutePath(const AbsolutePath&) = delete;
  AbsolutePath& operator=(const AbsolutePath&) = delete;
  ~AbsolutePath() = default;

  // Without "." and repeated slashes, and without ".." and the name before it, also where that is
  // a link: asking what links lead to would double the calls. Empty when it cannot be known or is
  // too long.
  [[nodiscard]] std::string_view view() const { return {bytes_.data(), size_}; }

 private:
  bool append(std::string_view path);  // false: it is too long

  std::array<char, PATH_MAX> bytes_;  // not initialised: `size_` bytes are
  std::size_t size_ = 0;
};

// The current folder has changed.
void forget_current_folder();

}  // namespace weir::calls
