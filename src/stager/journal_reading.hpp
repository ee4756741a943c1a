// Reads a journal that a stager has left (journal.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "common/status.hpp"
#include "system/file.hpp"
#include "transport/messages.hpp"

namespace weir::stager {

// What a journal's file has, but for the blocks.
struct JournaledStep {
  std::vector<transport::NameFile> files;  // by number; the first is the file of the step itself
  transport::CommitStep before;            // what the commit replaces
  transport::CommitStep step;
  transport::StepShare share;  // without hosts: the journal has the whole step
};
[[nodiscard]] Result<std::int64_t> length_of(const storage::File& journal);

// Reads a journal from its beginning to its end. `take_block` gets each block, with its extents,
// and may be null. Returns nothing if the journal has no end, and ErrorCode::corrupt if a byte of
// it is damaged or it makes no sense. The memory that is needed depends on no length that the
// journal tells without having the bytes.
using TakeBlock = std::function<Status(std::span<const std::byte> block, std::int64_t extents)>;
[[nodiscard]] Result<std::optional<JournaledStep>> read_journal(const storage::File& file,
                                                                const TakeBlock& take_block);

}  // namespace weir::stager
