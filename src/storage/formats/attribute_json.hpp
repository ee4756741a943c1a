// Attributes as JSON has them in documents of Zarr and raw files: text, numbers, lists of numbers.
#pragma once

#include <vector>

#include "storage/formats/file_description.hpp"
#include "storage/json.hpp"

namespace weir::storage {

// False of numbers that are not finite, which JSON does not know.
[[nodiscard]] bool has_json_form(const Attribute& attribute);
// An object; all have a form.
[[nodiscard]] Json attributes_json(const std::vector<Attribute>& attributes);
// Values that are neither text nor numbers nor a list of numbers are left out, and named. `owner`
// is the array or group that has the attributes.
[[nodiscard]] AttributesFound parse_attributes(const Json& attributes, const std::string& owner);

}  // namespace weir::storage
