// What is added to a file that readers see already: arrays, and attributes of what is there.
//
// Everything is added at once, by one update in the order of header_update.hpp, and needs no step:
// a run that is killed leaves the file as it was, or with all of it. The steps that the file has
// read as the fill value in the new arrays. What a format cannot do so is refused with the reason.
#pragma once

#include <string>
#include <vector>

#include "common/status.hpp"
#include "storage/formats/file_description.hpp"
#include "storage/step_durability.hpp"

namespace weir::storage {

struct StoredArray;

struct Additions {
  // Arrays of names that the file does not have. Those that grow have any number of steps here.
  std::vector<ArrayDescription> arrays = {};
  // Attributes of the file, of groups and of arrays that are there, by their names: new ones, and
  // other values for those that they have.
  std::vector<GroupDescription> attributes = {};

  [[nodiscard]] bool empty() const { return arrays.empty() && attributes.empty(); }
};

// By the one writer of the file, which has its lock, between steps.
Status add_to_file(const std::string& path, Additions added, StepDurability durability);

// Gives the attributes, in place of those of the same names.
void set_attributes(std::vector<Attribute>& all, const std::vector<Attribute>& given);

// Gives new arrays that have places in a file their fill values, where these are not zeros.
Status write_fills_of(const std::vector<StoredArray>& arrays);

}  // namespace weir::storage
