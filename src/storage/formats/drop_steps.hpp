// Taking away the last steps of a file, as a run does that starts again from an earlier checkpoint.
//
//     note      PATH.weir_drop says how many steps there were, durably
//     commit    the update of Format::drop_steps(): readers see fewer steps from here on
//     clear     Format::clear_unfinished(), the checksums of these steps
//     forget    the note is removed
//
// A run that is killed in between leaves a file with the steps of before or of after, in the order
// of header_update.hpp, and the note: finish_drop() then goes on from there. Until that is done,
// places that belong to no step may hold bytes of the steps that were dropped.
#pragma once

#include <cstdint>
#include <string>

#include "common/status.hpp"
#include "storage/step_durability.hpp"

namespace weir::storage {

// Keeps the first `steps` steps of every array that grows. By the one writer of the file, which has
// its lock; fails where nothing grows, and for more steps than there are.
Status drop_steps(const std::string& path, std::int64_t steps, StepDurability durability);

// By the one writer, before it adds steps: does what a killed drop_steps() left undone. Nothing
// where there is no note.
Status finish_drop(const std::string& path, StepDurability durability);

// The note of a drop that did not come to its end.
[[nodiscard]] std::string drop_note_path(const std::string& path);

}  // namespace weir::storage
