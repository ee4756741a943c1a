// Additions to a file that readers already see: new arrays, and attributes of existing objects.
//
// Everything is added at once, by one update in the order of header_update.hpp, and needs no step:
// a run that is killed leaves the file either unchanged or with all additions. In the new arrays,
// the steps that the file already has read as the fill value. An addition that a format cannot make
// in this way is refused with the reason.
#pragma once

#include <string>
#include <vector>

#include "common/status.hpp"
#include "stored/file_description.hpp"
#include "system/step_durability.hpp"

namespace weir::storage {

struct StoredArray;

struct Additions {
  // Arrays whose names the file does not have. An array that grows may have any number of steps
  // here.
  std::vector<ArrayDescription> arrays = {};
  // Attributes of the file, and of existing groups and arrays, by name. They are added, or replace
  // the values of existing attributes.
  std::vector<GroupDescription> attributes = {};

  [[nodiscard]] bool empty() const { return arrays.empty() && attributes.empty(); }
};

// Adds to the file, between steps. Called by the file's only writer, which holds its lock.
Status add_to_file(const std::string& path, Additions added, StepDurability durability);

// Adds the given attributes to `all`, replacing attributes of the same names.
void set_attributes(std::vector<Attribute>& all, const std::vector<Attribute>& given);

// Writes the fill values of new arrays that have places in a file, unless they are zeros.
Status write_fills_of(const std::vector<StoredArray>& arrays);

}  // namespace weir::storage
