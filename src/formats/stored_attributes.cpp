#include "formats/stored_attributes.hpp"

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace weir::storage {
namespace {

Status check_all(const std::vector<Attribute>& attributes, const array::ElementType* array,
                 const Format& format) {
  for (const Attribute& one : attributes) {
    if (auto stored = format.stored_attribute(one, array); !stored) return stored.error();
  }
  return {};
}

void leave_out(std::vector<Attribute>& attributes, const std::string& owner,
               const array::ElementType* array, const Format& format, AttributesChanged& changed) {
  std::vector<Attribute> kept;
  for (Attribute& one : attributes) {
    Status fine = check_attribute(one, owner);
    const auto stored = format.stored_attribute(one, array);
    if (fine.ok() && !stored) fine = stored.error();
    if (!fine.ok()) {
      changed.left_out.push_back({owner, one.name, fine.error().message});
      continue;
    }
    const std::string_view given = attribute_type(one.value);
    const std::string_view found = attribute_type(stored.value());
    if (given != found) {
      changed.retyped.push_back({owner, one.name, fmt::format("{} becomes {}", given, found)});
    }
    kept.push_back(std::move(one));
  }
  attributes = std::move(kept);
}

}  // namespace

Status check_stored_attributes(const FileDescription& file, const Format& format) {
  for (const ArrayDescription& one : file.arrays) {
    if (Status fine = check_all(one.attributes, &one.type, format); !fine.ok()) return fine;
  }
  for (const GroupDescription& one : file.groups) {
    if (Status fine = check_all(one.attributes, nullptr, format); !fine.ok()) return fine;
  }
  return {};
}

AttributesChanged leave_out_attributes(FileDescription& file, const Format& format) {
  AttributesChanged changed;
  for (ArrayDescription& one : file.arrays) {
    leave_out(one.attributes, one.name, &one.type, format, changed);
  }
  for (GroupDescription& one : file.groups) {
    leave_out(one.attributes, one.name, nullptr, format, changed);
  }
  return changed;
}

}  // namespace weir::storage
