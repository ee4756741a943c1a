// Stores the steps that are in the journals of stagers that have ended (journal.hpp), with the code
// by which a living stager stores them (session_files.hpp).
//
// clang-format off
//     a journal without a CommitStep at its end   ─► removed: its step had not ended
//     damaged, or its file has changed since      ─► kept under another name, and nothing is written
//     its step is stored already                  ─► removed
//     its file has a writer, or no space is left  ─► left, for the next stager
//     else                                        ─► the extents are written, the step is committed
// clang-format on
//
// Each journal of a step with several stagers has a share. The stagers find each other by marks
// beside the file (share_marks.hpp), and whichever of them comes last commits the step. Who waits
// keeps its journal and looks again while it serves programs.
//
// clang-format off
//     not all journals of the step have been found  ─► this one is noted; nothing is written
//     all have been found                           ─► the extents are written, which is noted
//     all extents have been written                 ─► the step is committed, and the others are told
//     the step is stored                            ─► removed
// clang-format on
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stager/journal_reading.hpp"
#include "system/file.hpp"
#include "system/root_folder.hpp"

namespace weir::stager {

using Tell = std::function<void(const std::string&)>;

// The journal of a share whose step is not stored yet. No other stager looks at it meanwhile.
struct WaitingShare {
  storage::File journal;
  std::int64_t bytes = 0;    // that the journal of this stager counts
  std::int64_t time_ns = 0;  // when it was written
  JournaledStep told;
  std::string line;  // for people: for what it waits
};

// Stores what is left in the folder, and returns the shares that wait. `root`: nothing is stored
// outside it, and such a journal stays; null: anything may be. `say` gets a line for each journal.
// Journals of stagers that run are let alone: `in_use` (may be null) gets their names.
std::vector<WaitingShare> replay_journals(const std::string& folder,
                                          const storage::RootFolder* root, const Tell& say,
                                          std::vector<std::string>* in_use = nullptr);
// Does the same for journals that another stager had when this one started. It may just have been
// killed, and the kernel closes the files of a process some time after that. `in_use` keeps the
// names of those that are still in use, and `shares` gets the shares that wait.
void replay_journals_in_use(std::vector<std::string>& in_use, std::vector<WaitingShare>& shares,
                            const storage::RootFolder* root, const Tell& say);
// Takes over the journal of a share from a session that is over.
[[nodiscard]] std::optional<WaitingShare> take_share(storage::File journal, const Tell& say);
// Looks at the shares again, and leaves those that wait. Returns the bytes of journals that are no
// longer in the folder.
std::int64_t go_on_with_shares(std::vector<WaitingShare>& shares, const storage::RootFolder* root,
                               const Tell& say);

}  // namespace weir::stager
