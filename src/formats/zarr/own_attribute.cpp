#include "formats/zarr/own_attribute.hpp"

#include <utility>

#include "formats/attribute_json.hpp"
#include "formats/fill_attribute.hpp"
#include "formats/zarr/fill_text.hpp"

namespace weir::storage {
namespace {

constexpr const char* own_attribute = "_nc_weir";
constexpr const char* growing_member = "grows";
constexpr const char* types_member = "types";
constexpr const char* earlier_attribute = "_weir_grows";

}  // namespace

void put_zarr_own(const FileDescription& file, Json& root) {
  Json own = Json::object();
  if (const Json* const there = json_member(json_member(&root, "attributes"), own_attribute);
      there != nullptr && there->is_object()) {
    own = *there;
  }
  Json growing = Json::array();
  if (own.contains(growing_member) && own[growing_member].is_array()) growing = own[growing_member];
  Json types = Json::object();
  if (own.contains(types_member) && own[types_member].is_object()) types = own[types_member];
  const auto put_types = [&](const std::string& owner, const std::vector<Attribute>& attributes) {
    Json& of_owner = types[owner];
    if (!of_owner.is_object()) of_owner = Json::object();
    for (const Attribute& one : attributes) of_owner.erase(one.name);
    of_owner.update(attribute_types_json(attributes));
    if (of_owner.empty()) types.erase(owner);
  };
  for (const ArrayDescription& one : file.arrays) {
    if (one.grows) growing.push_back(one.name);
    put_types(one.name, one.attributes);
    if (zarr_fill_of_text(one)) types[one.name][fill_attribute_name] = "text";
  }
  for (const GroupDescription& one : file.groups) put_types(one.name, one.attributes);
  own.erase(growing_member);
  own.erase(types_member);
  if (!growing.empty()) own[growing_member] = std::move(growing);
  if (!types.empty()) own[types_member] = std::move(types);
  if (!own.empty()) root["attributes"][own_attribute] = std::move(own);
}

ZarrOwn parse_zarr_own(const Json& root) {
  ZarrOwn found;
  const Json* const own = json_member(json_member(&root, "attributes"), own_attribute);
  if (const Json* const growing = json_member(own, growing_member);
      growing != nullptr && growing->is_array()) {
    for (const Json& one : *growing) {
      if (one.is_string()) found.growing.insert(one.get<std::string>());
    }
  }
  if (const Json* const types = json_member(own, types_member);
      types != nullptr && types->is_object()) {
    for (const auto& [owner, of_owner] : types->items()) {
      if (of_owner.is_object()) found.types.emplace(owner, of_owner);
    }
  }
  return found;
}

bool is_zarr_own(const std::string& name) {
  return name == own_attribute || name == earlier_attribute;
}

bool grows_as_before(const Json& array) {
  return json_member(json_member(&array, "attributes"), earlier_attribute) != nullptr;
}

}  // namespace weir::storage
