// Checks that what a rank names lies below the folder to which a stager is confined, with all the
// files that its name stands for: those of an array's chunks, documents, and what lies beside a
// file.
#pragma once

#include "common/status.hpp"
#include "system/root_folder.hpp"
#include "transport/messages.hpp"

namespace weir::stager {

// Each fails with ErrorCode::invalid_argument, with the path that is outside. `root` null: nothing
// is outside.
[[nodiscard]] Status check_below(const storage::RootFolder* root, const transport::NameFile& named);
[[nodiscard]] Status check_below(const storage::RootFolder* root,
                                 const transport::CommitStep& step);
// Fails if a message of a rank or a stager names a path that is not below the root. Session files
// check the path of a TakeLock when the lock is taken (session_files.hpp).
[[nodiscard]] Status check_below(const storage::RootFolder* root,
                                 const transport::Message& message);

}  // namespace weir::stager
