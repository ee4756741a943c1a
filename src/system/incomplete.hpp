// A file that is being made is called PATH.incomplete, beside PATH; it is a folder if the format
// has several files. The first commit renames it to PATH. Therefore PATH is a complete file at all
// times, including an earlier file of that name, and the name of what a killed run leaves shows
// that it is incomplete.
#pragma once

#include <string>

#include "common/status.hpp"
#include "system/step_durability.hpp"
#include "system/striping.hpp"

namespace weir::storage {

[[nodiscard]] bool is_on_disk(const std::string& path);

// Returns the path that is to be replaced: if PATH is a symbolic link, the file to which it leads,
// so that the link stays.
[[nodiscard]] std::string committed_path(const std::string& path);
[[nodiscard]] std::string incomplete_path(const std::string& path);

// Makes the folder under the temporary name, with a mark in it by which the next run knows that it
// may remove the folder. Removes what an earlier run left. Fails if there is a folder that has no
// mark and is not empty, or if PATH exists and is not an empty folder. `striping` applies to all
// files that will be made in the folder.
Status make_incomplete_folder(const std::string& path, const Striping& striping = {});

// Removes what lay_out() made under the temporary name, for a caller that gives it up before the
// first commit. Anything else there stays.
void remove_incomplete(const std::string& path);

// Renames what is under the temporary name to PATH. If durability is requested the name is made
// durable; the content must have been made durable before.
Status publish(const std::string& path, StepDurability durability);
// Removes the mark of a published folder, for a run that was killed before it could remove it.
void remove_folder_mark(const std::string& path);

// Makes the entries of a folder durable: the names, not the files that they name.
Status sync_folder(const std::string& folder);
// Makes the content of a file, or the entries of a folder, durable.
Status sync_path(const std::string& path);
[[nodiscard]] std::string folder_of(const std::string& path);
// Returns the path by which a process in another folder finds the file.
[[nodiscard]] std::string absolute_path(const std::string& path);

}  // namespace weir::storage
