// Where a program of Weir's own is that reads headers: in the folder libexec/weir beside or above
// the folder of the library or program that Weir's code is in, as it is installed
// (prefix/lib, prefix/bin, prefix/libexec/weir) and in a build folder. Somebody who linked the
// static libraries alone has none.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace weir::storage {

// The path of the program. Nothing where there is none that, with both of its folders, belongs to
// whom the code that runs belongs to, or to root, is no link, and cannot be written by everybody:
// above the code may be folders in which strangers make what they like.
[[nodiscard]] std::optional<std::string> find_sandbox_program(std::string_view name);

// The path of the program for code that is in `file`, a path from the root on.
[[nodiscard]] std::optional<std::string> find_sandbox_program_of(const std::string& file,
                                                                 std::string_view name);

}  // namespace weir::storage
