// What Weir keeps of a Zarr store beside the user's attributes: the attribute "_nc_weir" of the
// root group, an object of
//
//     "grows"  the arrays to which steps may be added, as in Zarr any array may be resized
//     "types"  by array or group, then by attribute, the types that JSON does not tell
//
// xarray shows no attributes of groups that begin with "_nc", but all of arrays.
#pragma once

#include <map>
#include <set>
#include <string>

#include "storage/formats/file_description.hpp"
#include "storage/json.hpp"

namespace weir::storage {

struct ZarrOwn {
  std::set<std::string> growing;
  std::map<std::string, Json> types;  // each an object

  // Null where all types of the attributes are told by JSON.
  [[nodiscard]] const Json* types_of(const std::string& owner) const {
    const auto found = types.find(owner);
    return found == types.end() ? nullptr : &found->second;
  }
};

// Puts the attribute into the root's document, where there is anything to keep: of the arrays and
// groups of `file`, beside what it says of others.
void put_zarr_own(const FileDescription& file, Json& root);
// Reads what Weir keeps for itself in the root's document, which may be any JSON.
[[nodiscard]] ZarrOwn parse_zarr_own(const Json& root);

// Whether an attribute is Weir's and none of the user's.
[[nodiscard]] bool is_zarr_own(const std::string& name);
// Whether an array's document says that it is meant to grow as Weir's first stores did.
[[nodiscard]] bool grows_as_before(const Json& array);

}  // namespace weir::storage
