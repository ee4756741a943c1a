// Zarr's types of elements, to and from Weir's.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "array/element_type.hpp"
#include "storage/formats/file_description.hpp"
#include "storage/json.hpp"

namespace weir::storage {

// The "data_type" of a v3 document; the type is no record.
[[nodiscard]] Json zarr_data_type(const array::ElementType& type);

struct ZarrDataType {
  array::ElementType type;
  // What the type says of the numbers beyond their bytes: instants are whole numbers with CF's
  // units and calendar.
  std::vector<Attribute> attributes = {};  // NOLINT(readability-redundant-member-init)
  bool is_text_of_any_length = false;      // `type` is then that of bytes
};

// The type by a v3 document's "data_type", or the reason why Weir has none; null: there is none.
[[nodiscard]] std::variant<ZarrDataType, std::string> parse_zarr_data_type(const Json* value);

}  // namespace weir::storage
