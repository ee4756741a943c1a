// Attributes as JSON has them in documents of Zarr and raw files: texts, numbers, true and false,
// and lists of one of these. JSON's numbers have no types, so types stand beside them; numbers that
// are not finite are "NaN", "Infinity", "-Infinity".
#pragma once

#include <string>
#include <vector>

#include "storage/formats/attribute.hpp"
#include "storage/formats/file_description.hpp"
#include "storage/json.hpp"

namespace weir::storage {

// Fails on texts that are not in UTF-8.
[[nodiscard]] Status check_has_json_form(const Attribute& attribute);
// An object with the values; all have a form.
[[nodiscard]] Json attributes_json(const std::vector<Attribute>& attributes);
// An object with the types of those of which the value alone does not tell it: "int16", "float32".
[[nodiscard]] Json attribute_types_json(const std::vector<Attribute>& attributes);

// The attributes of an array or group, `owner`. `types` is null where there are none; a type that
// does not hold the value is left alone, as another program may have changed the value. Values of
// other kinds are left out, and named.
[[nodiscard]] AttributesFound parse_attributes(const Json& attributes, const Json* types,
                                               const std::string& owner);

}  // namespace weir::storage
