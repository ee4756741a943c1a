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
// The same, by the document if PATH has one: its data are committed, and lie under the temporary
// name, which is about to be cleared.
Status finish_raw_renaming(const std::string& path);

// PATH is a file of another format from now on: the document of the raw file or array whose bytes
// were there goes. Documents that are not Weir's, or of an array in files of other names, stay.
Status remove_raw_document(const std::string& path, StepDurability durability);

}  // namespace weir::storage
