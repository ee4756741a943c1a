// Removes the last steps of a file, for a run that starts again from an earlier checkpoint:
//
//     note      PATH.weir_drop durably records how many steps there were
//     commit    the update of Format::drop_steps(): readers see fewer steps from here on
//     clear     Format::clear_unfinished(), and the checksums of the dropped steps
//     forget    the note is removed
//
// A run that is killed in between leaves a file with the old or the new number of steps, in the
// order of header_update.hpp, and the note. finish_drop() then completes the work. Until then,
// places that belong to no step may hold bytes of the dropped steps.
#pragma once

#include <cstdint>
#include <string>

#include "common/status.hpp"
#include "system/step_durability.hpp"

namespace weir::storage {

// Keeps the first `steps` steps of every array that grows. Called by the file's only writer, which
// holds its lock. Fails if no array grows, or if there are fewer steps.
Status drop_steps(const std::string& path, std::int64_t steps, StepDurability durability);

// Completes a drop_steps() that was killed. Called by the only writer before it adds steps. Does
// nothing if there is no note.
Status finish_drop(const std::string& path, StepDurability durability);

// Returns the path of the note about a drop that has not been completed.
[[nodiscard]] std::string drop_note_path(const std::string& path);

}  // namespace weir::storage
