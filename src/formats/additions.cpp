#include "formats/additions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "formats/dimension_names.hpp"
#include "formats/format.hpp"
#include "formats/header_update.hpp"
#include "formats/open_any.hpp"
#include "formats/stored_attributes.hpp"
#include "sections/write_section.hpp"
#include "stored/array_change.hpp"

namespace weir::storage {
namespace {

// Returns the existing arrays as far as the rules for a whole file concern them: names and
// dimensions.
std::vector<ArrayDescription> as_neighbours(const FileMap& map, const FormatAbilities& abilities,
                                            std::string_view format) {
  FileDescription there;
  for (const StoredArray& one : map.arrays) {
    there.arrays.push_back({.name = one.description.name,
                            .shape = one.description.shape,
                            .type = one.description.type,
                            .is_scalar = one.description.is_scalar,
                            .grows = one.description.grows,
                            .dimension_names = one.description.dimension_names});
  }
  if (check_description(there, abilities, format).ok()) return there.arrays;
  // Other programs may use one name for dimensions of several lengths; new arrays need not agree
  // with it.
  for (ArrayDescription& one : there.arrays) one.dimension_names.clear();
  return there.arrays;
}

bool is_there(const FileMap& map, const std::string& name) {
  return map.find(name) != nullptr ||
         std::any_of(map.refused.begin(), map.refused.end(),
                     [&](const RefusedArray& one) { return one.name == name; });
}

bool has_owner(const FileMap& map, const Additions& added, const std::string& name) {
  if (name.empty() || is_there(map, name)) return true;
  const auto is_below = [&](const std::string& array) { return array.starts_with(name + "/"); };
  return std::any_of(map.groups.begin(), map.groups.end(),
                     [&](const GroupDescription& one) { return one.name == name; }) ||
         std::any_of(map.arrays.begin(), map.arrays.end(),
                     [&](const StoredArray& one) { return is_below(one.description.name); }) ||
         std::any_of(added.arrays.begin(), added.arrays.end(),
                     [&](const ArrayDescription& one) { return is_below(one.name); });
}

Status check_additions(const FileMap& map, const Additions& added, const Format& format) {
  for (const ArrayDescription& one : added.arrays) {
    if (!is_there(map, one.name)) continue;
    return invalid_argument(
        fmt::format("the file already has an array \"{}\": give the new array another name",
                    printable(one.name)));
  }
  FileDescription all{.arrays = as_neighbours(map, format.abilities(), format.name())};
  all.arrays.insert(all.arrays.end(), added.arrays.begin(), added.arrays.end());
  if (Status fine = check_description(all, format.abilities(), format.name()); !fine.ok()) {
    return fine;
  }
  if (Status fine = check_stored_attributes({.arrays = added.arrays}, format); !fine.ok()) {
    return fine;
  }
  for (const GroupDescription& owner : added.attributes) {
    if (!has_owner(map, added, owner.name)) {
      return invalid_argument(
          fmt::format("attributes are given to \"{}\", but the file has neither an array nor a "
                      "group of this name",
                      printable(owner.name)));
    }
    const StoredArray* const array = map.find(owner.name);
    for (const Attribute& one : owner.attributes) {
      if (Status fine = check_attribute(one, owner.name); !fine.ok()) return fine;
      const auto stored =
          format.stored_attribute(one, array == nullptr ? nullptr : &array->description.type);
      if (!stored) return stored.error();
    }
  }
  return {};
}

// Names every dimension of the new arrays: by the file's name for such a dimension, or a new name.
void name_dimensions(const FileMap& map, Additions& added) {
  FileDescription all;
  for (const StoredArray& one : map.arrays) all.arrays.push_back(one.description);
  const auto there = static_cast<std::ptrdiff_t>(all.arrays.size());
  all.arrays.insert(all.arrays.end(), added.arrays.begin(), added.arrays.end());
  all = with_dimension_names(std::move(all));
  added.arrays.assign(all.arrays.begin() + there, all.arrays.end());
}

}  // namespace

Status add_to_file(const std::string& path, Additions added, StepDurability durability) {
  const auto opened = open_any(path);
  if (!opened) return opened.error();
  const std::string& place = opened.value().path;
  const FileMap& map = opened.value().map;
  const auto format = find_format(opened.value().format);
  if (!format) return format.error();
  for (ArrayDescription& one : added.arrays) {
    if (!one.grows) continue;
    const auto shape = with_steps(one.shape, map.steps().value_or(0));
    if (!shape) return with_file(shape.error(), place);
    one.shape = shape.value();
  }
  name_dimensions(map, added);
  if (Status fine = check_additions(map, added, *format.value()); !fine.ok()) {
    return with_file(fine.error(), place);
  }
  const auto update = format.value()->add(place, added);
  if (!update) return with_file(update.error(), place);
  return commit(place, update.value(), durability);
}

void set_attributes(std::vector<Attribute>& all, const std::vector<Attribute>& given) {
  for (const Attribute& one : given) {
    const auto same = std::find_if(all.begin(), all.end(),
                                   [&](const Attribute& there) { return there.name == one.name; });
    if (same == all.end()) {
      all.push_back(one);
    } else {
      same->value = one.value;
    }
  }
}

Status write_fills_of(const std::vector<StoredArray>& arrays) {
  DataFileCache files(DataFileCache::Use::writing);
  bool any = false;
  for (const StoredArray& one : arrays) {
    const auto& fill = one.description.fill;
    const bool zeros =
        std::all_of(fill.begin(), fill.end(), [](std::byte b) { return b == std::byte{0}; });
    if (zeros || one.map.encoded() != nullptr || one.map.shape.elements() == 0) continue;
    any = true;
    Status filled = write_fill(one, array::Section::of(one.map.shape.box()), files);
    if (!filled.ok()) return filled;
  }
  return any ? files.sync() : Status();
}

}  // namespace weir::storage
