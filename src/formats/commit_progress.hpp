// Finds how far a commit has come whose process may have been killed at any point, from the file
// itself. A commit that was recorded can thereby be carried out later: once, and never over what
// others have written meanwhile.
//
// clang-format off
//     content_before() ─► (killed before, within or after commit()) ─► progress_of() ─► rest_of()
// clang-format on
#pragma once

#include <cstdint>
#include <string>

#include "common/status.hpp"
#include "formats/header_update.hpp"
#include "system/known_file.hpp"

namespace weir::storage {

// Returns where the file is that the update changes: under its temporary name if it is published.
[[nodiscard]] std::string place_of(const std::string& path, const HeaderUpdate& update);

// Returns what the update is going to replace: for each of its writes and documents, in their
// order, one with what is there. A write is shorter where the file ends, and a document that is
// missing is empty. Nothing is recorded of a file that has not got its name, since its identity
// tells enough.
[[nodiscard]] Result<HeaderUpdate> content_before(const std::string& path,
                                                  const HeaderUpdate& update);

enum class CommitProgress : std::uint8_t {
  can_begin,  // none or some of the changes are made, and no others: it can be carried out
  lacks_end,  // the file has got its name, and only changes behind that are missing
  is_done,
  is_foreign,  // the file was replaced, or has other content than the commit's process has left
};
// `identity` and `before` are those of place_of() and content_before(). The writer's lock is held.
// Fails if something is there that cannot be read.
[[nodiscard]] Result<CommitProgress> progress_of(const std::string& path,
                                                 const FileIdentity& identity,
                                                 const HeaderUpdate& update,
                                                 const HeaderUpdate& before);

// Returns the changes that are left of a commit that can begin or lacks its end: commit() can
// neither rename an announced document twice nor give a file its name twice; everything else can be
// repeated.
[[nodiscard]] Result<HeaderUpdate> rest_of(const std::string& path, const HeaderUpdate& update);

}  // namespace weir::storage
