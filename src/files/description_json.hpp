// What is in a file as JSON, and back: how the description crosses the C interface. The form is in
// include/weir/files.h.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/status.hpp"
#include "storage/formats/file_description.hpp"
#include "storage/formats/format.hpp"
#include "storage/sums/checksum.hpp"

namespace weir::files {

// The type of arrays of StoredTexts, which are numbered behind the other ones.
inline constexpr const char* text_of_any_length = "text[]";

// `retyped`: attributes of a file that is being made, whose types its format has not.
[[nodiscard]] std::string description_json(
    std::string_view format, const storage::FileMap& map,
    const std::vector<storage::AttributeLeftOut>& retyped = {});

struct AskedFile {
  storage::FileDescription description;
  storage::Checksum checksum = storage::Checksum::none;
  bool leave_out_attributes = false;  // those that the format cannot hold, instead of failing
  bool replaces = false;              // a Zarr folder that is there
};
// Fails on what is no such document; what a format cannot express, its lay_out() refuses.
[[nodiscard]] Result<AskedFile> parse_description(std::string_view text);

}  // namespace weir::files
