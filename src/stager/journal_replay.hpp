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
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/status.hpp"
#include "system/file.hpp"
#include "system/root_folder.hpp"
#include "transport/messages.hpp"

namespace weir::stager {

// What a journal's file has, but for the blocks.
struct JournaledStep {
  std::vector<transport::NameFile> files;  // by number; the first is the file of the step itself
  transport::CommitStep before;            // what the commit replaces
  transport::CommitStep step;
};
// Reads a journal from its beginning to its end. `take_block` gets each block, with its extents,
// and may be null. Returns nothing if the journal has no end, and ErrorCode::corrupt if a byte of
// it is damaged or it makes no sense. The memory that is needed depends on no length that the
// journal tells without having the bytes.
using TakeBlock = std::function<Status(std::span<const std::byte> block, std::int64_t extents)>;
[[nodiscard]] Result<std::optional<JournaledStep>> read_journal(const storage::File& file,
                                                                const TakeBlock& take_block);

// Stores what is left in the folder. `root`: nothing is stored outside it, and such a journal
// stays; null: anything may be. `say` gets a line for each journal. Journals of stagers that run
// are let alone.
void replay_journals(const std::string& folder, const storage::RootFolder* root,
                     const std::function<void(const std::string&)>& say);

}  // namespace weir::stager
