// The members of a record's elements, for formats that can name them. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "array/element_type.hpp"

namespace weir::array {

// The text attribute by which a program names the members of an array of records. HDF5 files then
// have a compound instead of opaque bytes; elsewhere it is an attribute like any other.
inline constexpr const char* record_members_attribute = "_RecordMembers";

inline constexpr std::size_t most_record_members = 1024;

struct RecordMember {
  std::string name;
  ElementType type;
  std::int64_t offset = 0;  // in the record
};

// Parses names and types such as "name:text[80],value:float64". The members lie in this order, one
// directly behind the other. Their types are numbers, truth values or text. Fails if they do not
// fill the record, if two have one name, and if there are too many.
[[nodiscard]] Result<std::vector<RecordMember>> parse_record_members(std::string_view text,
                                                                     const ElementType& record);

}  // namespace weir::array
