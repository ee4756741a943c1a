// Data that Weir keeps in a Zarr store beside the user's attributes: the attribute "_nc_weir" of
// the root group, an object with the members
//
//     "grows"  the arrays to which steps may be added (in Zarr any array may be resized)
//     "types"  by array or group, then by attribute, the types that do not follow from the value
//
// xarray hides attributes of groups that begin with "_nc", but shows all attributes of arrays.
#pragma once

#include <map>
#include <set>
#include <string>

#include "formats/json.hpp"
#include "stored/file_description.hpp"

namespace weir::storage {

struct ZarrOwn {
  std::set<std::string> growing;
  std::map<std::string, Json> types;  // each value is an object

  // Returns the stored types of an owner's attributes; null if all types follow from the JSON
  // values.
  [[nodiscard]] const Json* types_of(const std::string& owner) const {
    const auto found = types.find(owner);
    return found == types.end() ? nullptr : &found->second;
  }
};

// Puts the attribute into the root's document, if there is anything to keep: entries for the arrays
// and groups of `file`, in addition to existing entries for others.
void put_zarr_own(const FileDescription& file, Json& root);
// Reads the attribute from the root's document, which may be any JSON.
[[nodiscard]] ZarrOwn parse_zarr_own(const Json& root);

// Returns whether an attribute is Weir's own and not the user's.
[[nodiscard]] bool is_zarr_own(const std::string& name);
// Returns whether an array's document marks it as growing in the way of Weir's first stores.
[[nodiscard]] bool grows_as_before(const Json& array);

}  // namespace weir::storage
