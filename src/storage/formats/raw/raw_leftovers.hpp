// What a raw file leaves for others to do: where its own run was killed while it gave the file its
// name, and where a file of another format takes its place.
#pragma once

#include <string>

#include "common/status.hpp"
#include "storage/formats/raw/raw_file.hpp"
#include "storage/step_durability.hpp"

namespace weir::storage {

// Where the data are: under the temporary name while a renaming is half done.
[[nodiscard]] std::string data_of(const RawFile& file, const std::string& path);

// Finishes the renaming that `file`, which the document of PATH tells of, says is half done.
Status finish_raw_renaming(const std::string& path, RawFile& file);
// Finishes the renaming by the document if PATH has one: its data are committed, and lie under the
// temporary name, which is about to be cleared.
Status finish_raw_renaming(const std::string& path);

// A file of another format takes the place of a raw one: PATH.incomplete is about to be renamed to
// PATH, and the document is none of it. So a note beside the document says, before the renaming,
// which file that will be, and document and note go after it: whoever is killed in between leaves a
// file that is read as what it is.
//
//   if (announce_replacement) → rename → end_replacement
//
// False, and nothing is done, where PATH has no document, or one that is not Weir's, or of an array
// in files of other names, which stay.
Result<bool> announce_replacement(const std::string& path, StepDurability durability);
Status end_replacement(const std::string& path, StepDurability durability);

// PATH has a document beside it, and is of a format of its own all the same.
[[nodiscard]] bool has_other_format(const std::string& path);
// What a killed run left: a document that the file in its place is none of.
[[nodiscard]] bool is_replaced_document(const std::string& path);
// Removes it, before anything else is made at PATH.
Status drop_replaced_document(const std::string& path);

}  // namespace weir::storage
