// Conversion of a file's description to and from JSON, the form in which it crosses the C
// interface. include/weir/files.h describes the form.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "checksums/checksum.hpp"
#include "common/status.hpp"
#include "formats/format.hpp"
#include "stored/file_description.hpp"

namespace weir::files {

// The type name of arrays of StoredTexts, which are numbered after all other arrays.
inline constexpr const char* text_of_any_length = "text[]";

// Describes the file's content as JSON. `retyped` are attributes of a file that is being made whose
// types its format does not have.
[[nodiscard]] std::string description_json(
    std::string_view format, const storage::FileMap& map,
    const std::vector<storage::AttributeLeftOut>& retyped = {});

struct AskedFile {
  storage::FileDescription description;
  storage::Checksum checksum = storage::Checksum::none;
  bool leave_out_attributes = false;  // leave out what the format cannot hold, instead of failing
  bool replaces = false;              // replaces an existing Zarr folder
};
// Parses a description. Fails on text that is no such document; lay_out() refuses what the format
// cannot express.
[[nodiscard]] Result<AskedFile> parse_description(std::string_view text);

}  // namespace weir::files
