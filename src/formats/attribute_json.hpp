// Attributes in the JSON form of Zarr's documents and those of raw files: texts, numbers, true and
// false, and lists of one of these. JSON's numbers have no types, so types are stored beside them.
// Numbers that are not finite are "NaN", "Infinity", "-Infinity".
#pragma once

#include <string>
#include <vector>

#include "formats/json.hpp"
#include "stored/attribute.hpp"
#include "stored/file_description.hpp"

namespace weir::storage {

// Fails on texts that are not UTF-8.
[[nodiscard]] Status check_has_json_form(const Attribute& attribute);
// Returns an object with the values. All attributes must have a JSON form.
[[nodiscard]] Json attributes_json(const std::vector<Attribute>& attributes);
// Returns an object with the types, such as "int16" or "float32", of those attributes whose type
// does not follow from the value.
[[nodiscard]] Json attribute_types_json(const std::vector<Attribute>& attributes);

// Parses the attributes of an array or group, `owner`. `types` is null if no types are stored. A
// type that cannot hold the value is ignored, because another program may have changed the value.
// Values of other kinds are listed as left out.
[[nodiscard]] AttributesFound parse_attributes(const Json& attributes, const Json* types,
                                               const std::string& owner);

}  // namespace weir::storage
