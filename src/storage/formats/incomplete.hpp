// A file that is being made has another name: PATH.incomplete, beside PATH, a folder where the
// format has several files. The first commit renames it to PATH. So PATH is a whole file at all
// times, the one that was there before included, and what a killed run leaves has a name that says
// so.
#pragma once

#include <string>

#include "common/status.hpp"
#include "storage/engines/file.hpp"
#include "storage/step_durability.hpp"
#include "storage/striping.hpp"

namespace weir::storage {

[[nodiscard]] bool is_on_disk(const std::string& path);

// Where PATH leads: of a symbolic link the file that it names, so that this one is replaced and the
// link stays.
[[nodiscard]] std::string committed_path(const std::string& path);
[[nodiscard]] std::string incomplete_path(const std::string& path);

// Removes the file that an earlier run left under the temporary name; one that a raw file's
// document tells of, so that it is committed, gets its name. Fails when there is anything else
// under it, or under PATH. Where a layout is asked for, makes the file of the temporary name,
// empty.
Status clear_for_file(const std::string& path, const Striping& striping = {});

// Clears as clear_for_file() does, and makes the file under the temporary name, empty and open for
// writing. No link that somebody puts there is followed.
[[nodiscard]] Result<File> make_incomplete_file(const std::string& path,
                                                const Striping& striping = {});

// Makes the folder under the temporary name, with a mark in it by which the next run knows that it
// may remove it; what an earlier run left is removed. Fails when there is a folder without the mark
// that holds something, and when PATH is there and no empty folder. `striping`: of all files that
// will be made in it.
Status make_incomplete_folder(const std::string& path, const Striping& striping = {});

// Removes what lay_out() made under the temporary name, for whoever gives it up before the first
// commit. What else is there stays.
void remove_incomplete(const std::string& path);

// Renames what is under the temporary name to PATH; durably where that is asked for, if the content
// was made durable before.
Status publish(const std::string& path, StepDurability durability);
// Removes the mark of a folder that was published by a run that was killed before it could.
void remove_folder_mark(const std::string& path);

// The entries of a folder are durable: the names, not what they name.
Status sync_folder(const std::string& folder);
// The content of a file, or the entries of a folder.
Status sync_path(const std::string& path);
[[nodiscard]] std::string folder_of(const std::string& path);

}  // namespace weir::storage
