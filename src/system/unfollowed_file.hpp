// Files that are written under a name that can be guessed. In a folder to which several users may
// write, one of them may have put a link or a pipe there: a link is not followed, and nothing waits
// for the reader of a pipe.
#pragma once

#include <string>

#include "common/status.hpp"
#include "system/file.hpp"

namespace weir::storage {

// Makes a file and opens it for writing. Fails if anything has the name.
[[nodiscard]] Result<File> make_unfollowed(const std::string& path);
// Opens an existing file for writing. Fails if it is a link or no regular file.
[[nodiscard]] Result<File> open_unfollowed(const std::string& path);
// Opens a file in the same way for reading and writing; makes it if it is missing.
[[nodiscard]] Result<File> open_or_make_unfollowed(const std::string& path);

}  // namespace weir::storage
