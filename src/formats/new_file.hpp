// The beginning of a file in the making, under its temporary name (system/incomplete.hpp).
#pragma once

#include <string>

#include "common/status.hpp"
#include "system/file.hpp"
#include "system/striping.hpp"

namespace weir::storage {

// Removes the file that an earlier run left under the temporary name; if a raw file's document
// refers to it, the file is committed and is renamed instead. Fails if anything else is under the
// temporary name or under PATH. If `striping` is not empty, makes an empty file with the temporary
// name.
Status clear_for_file(const std::string& path, const Striping& striping = {});

// Clears as clear_for_file() does, and makes an empty file under the temporary name, open for
// writing. Links at that place are not followed.
[[nodiscard]] Result<File> make_incomplete_file(const std::string& path,
                                                const Striping& striping = {});

}  // namespace weir::storage
