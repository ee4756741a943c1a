// Checks which attributes a format can store.
#pragma once

#include <vector>

#include "formats/format.hpp"

namespace weir::storage {

// Fails on the first attribute that the format cannot hold.
[[nodiscard]] Status check_stored_attributes(const FileDescription& file, const Format& format);

struct AttributesChanged {
  std::vector<AttributeLeftOut> left_out;  // the format cannot hold their values
  std::vector<AttributeLeftOut> retyped;   // the file has their values in another type
};

// Removes the attributes that the format cannot hold, so that the file can be laid out without
// them.
[[nodiscard]] AttributesChanged leave_out_attributes(FileDescription& file, const Format& format);

}  // namespace weir::storage
