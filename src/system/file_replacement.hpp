// A file that replaces another file, or that is new. It is written beside it, as PATH.new, and
// renamed when it is complete, so that readers see either the old or the new file.
//
// The temporary name can be guessed. In a folder to which several users may write, one of them may
// have put a link there. Links are not followed, and anything that is not this user's own file is
// removed.
#pragma once

#include <string>

#include "common/status.hpp"
#include "system/file.hpp"

namespace weir::storage {

// Returns PATH.new.
[[nodiscard]] std::string replacement_path(const std::string& path);
// Makes PATH.new, an empty file. It gets the owner, group, mode and access control list of an
// existing file at PATH, as far as this user may set them.
[[nodiscard]] Result<File> begin_replacement(const std::string& path);
// Closes the file of begin_replacement() and renames it to PATH. Only sync_folder() makes the name
// durable. `durable`: the content is made durable before the renaming, so that no crash of the
// system leaves PATH with neither the old content nor the new one.
Status finish_replacement(File& file, const std::string& path, bool durable);
// Makes PATH.new with this text, and closes it.
Status write_replacement(const std::string& path, std::string text);
// Replaces PATH by a file with this text, as begin_replacement() and finish_replacement() do.
Status replace_file(const std::string& path, std::string text, bool durable);
// Replaces PATH in the same way, by a file that is written as PATH.renewed: PATH.new, which may
// announce a change, stays as it is.
Status replace_beside_announcement(const std::string& path, std::string text, bool durable);
// Renames PATH.new, which has been written and made durable, to PATH. Fails if PATH.new has not
// exactly this text.
Status rename_announced(const std::string& path, const std::string& text);
// Renames the replacement as finish_replacement() does, but leaves the file open: it is made
// durable later, with others.
Status rename_replacement(File& file, const std::string& path);

}  // namespace weir::storage
