// A file that takes the place of another, or of none: it is written beside it, as PATH.new, and
// renamed when it is whole, so that readers see the one or the other.
//
// The temporary name can be guessed, and in a folder that several users may write to one of them
// may have put a link there. No link is followed, and what is not this user's own file is removed.
#pragma once

#include <string>

#include "common/status.hpp"
#include "storage/engines/file.hpp"

namespace weir::storage {

// PATH.new
[[nodiscard]] std::string replacement_path(const std::string& path);
// Makes PATH.new, empty. It gets the mode and group of the file at PATH, if there is one and this
// user may give it these.
[[nodiscard]] Result<File> begin_replacement(const std::string& path);
// Closes the file of begin_replacement() and gives it its name, which is not durable by that:
// sync_folder() makes it so. `durable`: the content is durable first, so that no crash of the
// system leaves PATH with neither the old content nor the new one.
Status finish_replacement(File& file, const std::string& path, bool durable);
// Gives the replacement its name, as finish_replacement() does, but leaves the file open: it is
// made durable later, with others.
Status rename_replacement(File& file, const std::string& path);

}  // namespace weir::storage
