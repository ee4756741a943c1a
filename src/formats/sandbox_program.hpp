// Finds Weir's own program that reads headers. It is in the folder libexec/weir beside or above the
// folder of the library or program that contains this code, both when installed (prefix/lib,
// prefix/bin, prefix/libexec/weir) and in a build folder. Programs that link only the static
// libraries have none.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace weir::storage {

// Returns the path of the program. Returns nothing unless the program and both of its folders
// belong to root or to the owner of the running code, are not links, and are not writable by
// everybody: in folders above the code, other users might be able to create files.
[[nodiscard]] std::optional<std::string> find_sandbox_program(std::string_view name);

// Returns the path of the program for code in `file`, an absolute path.
[[nodiscard]] std::optional<std::string> find_sandbox_program_of(const std::string& file,
                                                                 std::string_view name);

}  // namespace weir::storage
