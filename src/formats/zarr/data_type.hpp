// Conversion between Zarr's element types and Weir's.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "array/element_type.hpp"
#include "formats/json.hpp"
#include "stored/file_description.hpp"

namespace weir::storage {

// Returns the "data_type" of a v3 document. The type must not be a record.
[[nodiscard]] Json zarr_data_type(const array::ElementType& type);

struct ZarrDataType {
  array::ElementType type;
  // Properties of the type beyond its numbers. For example, times are integers with CF's units and
  // calendar.
  std::vector<Attribute> attributes = {};  // NOLINT(readability-redundant-member-init)
  bool is_text_of_any_length = false;      // `type` is then the type of bytes
};

// Parses a v3 document's "data_type" (null: it is missing). Returns the type, or the reason why
// Weir does not have it.
[[nodiscard]] std::variant<ZarrDataType, std::string> parse_zarr_data_type(const Json* value);

}  // namespace weir::storage
