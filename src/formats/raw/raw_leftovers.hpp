// Completes what a raw file may leave undone: the renaming of a run that was killed, and the
// removal of its document when a file of another format replaces it.
#pragma once

#include <string>

#include "common/status.hpp"
#include "formats/raw/raw_file.hpp"
#include "system/step_durability.hpp"

namespace weir::storage {

// Returns whether PATH has a document beside it that a Weir of any version wrote.
[[nodiscard]] bool is_weirs_document(const std::string& path);

// Returns where the data are: under the temporary name while a renaming is half done.
[[nodiscard]] std::string data_of(const RawFile& file, const std::string& path);

// Completes the half-done renaming of the file `file`, which the document of PATH describes.
Status finish_raw_renaming(const std::string& path, RawFile& file);
// Completes the renaming if PATH has a document: its data are committed, and lie under the
// temporary name, which is about to be cleared.
Status finish_raw_renaming(const std::string& path);

// These calls replace a raw file by a file of another format: PATH.incomplete is about to be
// renamed to PATH, and the document does not describe it. Before the renaming, a note beside the
// document says which file will be at PATH; document and note are removed after it. A run that is
// killed in between therefore leaves a file that is read as what it is.
//
//   if (announce_replacement) → rename → end_replacement
//
// announce_replacement() returns false, and does nothing, if PATH has no document, or the document
// is not Weir's, or describes an array in files of other names, which stay.
Result<bool> announce_replacement(const std::string& path, StepDurability durability);
Status end_replacement(const std::string& path, StepDurability durability);

// Returns whether PATH has a document beside it, but its content has another format.
[[nodiscard]] bool has_other_format(const std::string& path);
// Returns whether a killed run left a document that does not describe the file in its place.
[[nodiscard]] bool is_replaced_document(const std::string& path);
// Removes such a document, before anything else is made at PATH.
Status drop_replaced_document(const std::string& path);
// Removes the document of PATH, whatever it describes, and what a killed run left beside it.
Status remove_document(const std::string& path);

}  // namespace weir::storage
