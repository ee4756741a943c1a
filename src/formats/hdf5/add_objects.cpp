#include "formats/hdf5/add_objects.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "formats/format.hpp"
#include "formats/hdf5/add_steps.hpp"
#include "formats/hdf5/attributes.hpp"
#include "formats/hdf5/datasets.hpp"
#include "formats/hdf5/dimension_scales.hpp"
#include "formats/hdf5/header_changes.hpp"
#include "formats/hdf5/read_file.hpp"
#include "formats/hdf5/superblock.hpp"
#include "formats/hdf5/write_driver.hpp"
#include "system/file.hpp"
#include "system/slices.hpp"

namespace weir::storage {
namespace {

extern "C" herr_t weir_hdf5_attribute_name(hid_t /*object*/, const char* name,
                                           const H5A_info_t* /*about*/, void* names) {
  static_cast<std::vector<std::string>*>(names)->emplace_back(name);
  return 0;
}

// Returns the names in order of creation, if the object records it.
std::vector<std::string> attribute_names(hid_t object) {
  std::vector<std::string> names;
  hsize_t next = 0;
  if (H5Aiterate2(object, H5_INDEX_CRT_ORDER, H5_ITER_INC, &next, weir_hdf5_attribute_name,
                  &names) >= 0) {
    return names;
  }
  names.clear();
  next = 0;
  H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_INC, &next, weir_hdf5_attribute_name, &names);
  return names;
}

bool copy_attribute(hid_t from, const std::string& name, hid_t to) {
  const Hdf5Handle attribute(H5Aopen(from, name.c_str(), H5P_DEFAULT));
  const Hdf5Handle type(H5Aget_type(attribute.id()));
  const Hdf5Handle space(H5Aget_space(attribute.id()));
  const hssize_t count = H5Sget_simple_extent_npoints(space.id());
  const std::size_t bytes = H5Tget_size(type.id());
  if (!attribute.ok() || !type.ok() || count < 0 || bytes == 0) return false;
  const Hdf5Handle made(
      H5Acreate2(to, name.c_str(), type.id(), space.id(), H5P_DEFAULT, H5P_DEFAULT));
  if (!made.ok()) return false;
  if (count == 0) return true;
  std::vector<std::byte> value(bytes * static_cast<std::size_t>(count));
  if (H5Aread(attribute.id(), type.id(), value.data()) < 0) return false;
  const bool written = H5Awrite(made.id(), type.id(), value.data()) >= 0;
  H5Dvlen_reclaim(type.id(), space.id(), H5P_DEFAULT, value.data());
  return written;
}

// Returns the names of a group's links, in order of creation if the group records it.
std::optional<std::vector<std::string>> link_names(hid_t group) {
  H5G_info_t about{};
  if (H5Gget_info(group, &about) < 0) return std::nullopt;
  const Hdf5Handle creation(H5Gget_create_plist(group));
  unsigned order = 0;
  H5Pget_link_creation_order(creation.id(), &order);
  const H5_index_t index =
      (order & H5P_CRT_ORDER_TRACKED) != 0 ? H5_INDEX_CRT_ORDER : H5_INDEX_NAME;
  std::vector<std::string> names;
  for (hsize_t i = 0; i < about.nlinks; ++i) {
    const ssize_t bytes =
        H5Lget_name_by_idx(group, ".", index, H5_ITER_INC, i, nullptr, 0, H5P_DEFAULT);
    if (bytes <= 0) return std::nullopt;
    std::string name(static_cast<std::size_t>(bytes) + 1, '\0');
    if (H5Lget_name_by_idx(group, ".", index, H5_ITER_INC, i, name.data(), name.size(),
                           H5P_DEFAULT) != bytes) {
      return std::nullopt;
    }
    name.pop_back();
    names.push_back(std::move(name));
  }
  return names;
}

// Returns properties for making a group like another one. The properties that the library returns
// for the old group also contain the place of its links, which must not be used for a new group.
Hdf5Handle creation_like(hid_t group) {
  const Hdf5Handle old(H5Gget_create_plist(group));
  Hdf5Handle creation(H5Pcreate(H5P_GROUP_CREATE));
  unsigned order = 0;
  unsigned most_compact = 0;
  unsigned least_dense = 0;
  if (H5Pget_link_creation_order(old.id(), &order) >= 0) {
    H5Pset_link_creation_order(creation.id(), order);
  }
  if (H5Pget_link_phase_change(old.id(), &most_compact, &least_dense) >= 0) {
    H5Pset_link_phase_change(creation.id(), most_compact, least_dense);
  }
  return creation;
}

// Groups that get a new header behind the file's end.
class NewGroups {
 public:
  NewGroups(const Additions& added, const Hdf5Objects& objects, const std::string& path)
      : path_(path) {
    const std::set<std::string> datasets(objects.datasets.begin(), objects.datasets.end());
    for (const ArrayDescription& one : added.arrays) enter(group_of(one.name));
    for (const GroupDescription& one : added.attributes) {
      if (datasets.contains(one.name)) continue;
      enter(one.name);
      attributes_.emplace_back(one);
    }
    enter("");
  }

  // Makes the file's root, and all groups below it that have to be new. The root is kept open
  // because nothing links to it.
  Result<Hdf5Handle> make(hid_t file) {
    const Hdf5Handle old(H5Gopen2(file, "/", H5P_DEFAULT));
    const Hdf5Handle creation = creation_like(old.id());
    Hdf5Handle root(H5Gcreate_anon(file, creation.id(), H5P_DEFAULT));
    if (!root.ok()) return hdf5_failure("make a root group", path_, ErrorCode::io);
    if (Status copied = copy(old.id(), root.id(), ""); !copied.ok()) return copied.error();
    for (const std::string& name : names_) {
      if (made_.contains(name)) continue;
      const Hdf5Handle group(
          H5Gcreate2(root.id(), name.c_str(), H5P_DEFAULT, creation.id(), H5P_DEFAULT));
      if (!group.ok()) return hdf5_failure("make group \"" + name + '"', path_, ErrorCode::io);
      if (Status given = give_attributes(group.id(), name); !given.ok()) return given.error();
    }
    return root;
  }

 private:
  // Adds a group and all groups above it.
  void enter(std::string name) {
    for (; names_.insert(name).second && !name.empty();) name = group_of(name);
  }

  [[nodiscard]] const GroupDescription* given_to(const std::string& name) const {
    const auto found = std::find_if(attributes_.begin(), attributes_.end(),
                                    [&](const auto& one) { return one.name == name; });
    return found == attributes_.end() ? nullptr : &*found;
  }

  Status give_attributes(hid_t group, const std::string& name) const {
    const GroupDescription* const given = given_to(name);
    return given == nullptr ? Status() : write_hdf5_attributes(group, given->attributes, path_);
  }

  Status copy(hid_t from, hid_t to, const std::string& name) {
    made_.insert(name);
    const GroupDescription* const given = given_to(name);
    for (const std::string& one : attribute_names(from)) {
      if (given != nullptr && find_attribute(given->attributes, one) != nullptr) continue;
      if (copy_attribute(from, one, to)) continue;
      return hdf5_failure("copy attribute \"" + one + '"', path_, ErrorCode::io);
    }
    if (Status done = give_attributes(to, name); !done.ok()) return done;
    const auto links = link_names(from);
    if (!links) return hdf5_failure("list group \"" + name + '"', path_, ErrorCode::corrupt);
    for (const std::string& link : *links) {
      const std::string whole = name.empty() ? link : fmt::format("{}/{}", name, link);
      if (names_.contains(whole)) {
        if (Status below = copy_below(from, to, link, whole); !below.ok()) return below;
      } else if (H5Lcopy(from, link.c_str(), to, link.c_str(), H5P_DEFAULT, H5P_DEFAULT) < 0) {
        return hdf5_failure("link \"" + whole + '"', path_, ErrorCode::io);
      }
    }
    return {};
  }

  Status copy_below(hid_t from, hid_t to, const std::string& link, const std::string& whole) {
    H5L_info_t about{};
    const bool is_hard =
        H5Lget_info(from, link.c_str(), &about, H5P_DEFAULT) >= 0 && about.type == H5L_TYPE_HARD;
    const Hdf5Handle old(is_hard ? H5Gopen2(from, link.c_str(), H5P_DEFAULT) : H5I_INVALID_HID);
    if (!old.ok()) {
      return Error(
          ErrorCode::unsupported,
          fmt::format("\"{}\" is a link, not a group of the file, so nothing can be added to it",
                      printable(whole)),
          path_);
    }
    const Hdf5Handle creation = creation_like(old.id());
    const Hdf5Handle made(H5Gcreate2(to, link.c_str(), H5P_DEFAULT, creation.id(), H5P_DEFAULT));
    if (!made.ok()) return hdf5_failure("make group \"" + whole + '"', path_, ErrorCode::io);
    return copy(old.id(), made.id(), whole);
  }

  const std::string& path_;
  std::set<std::string> names_;
  std::set<std::string> made_;
  std::vector<GroupDescription> attributes_;
};

// Writes attributes of existing arrays in the arrays' headers.
Status enter_attributes(hid_t file, const Additions& added, const Hdf5Objects& objects,
                        const std::string& path) {
  const std::set<std::string> datasets(objects.datasets.begin(), objects.datasets.end());
  for (const GroupDescription& owner : added.attributes) {
    if (!datasets.contains(owner.name)) continue;
    const Hdf5Handle dataset(H5Dopen2(file, owner.name.c_str(), H5P_DEFAULT));
    if (!dataset.ok()) {
      return hdf5_failure("open array \"" + owner.name + '"', path, ErrorCode::corrupt);
    }
    Status set = set_hdf5_attributes_in_place(dataset.id(), owner, path);
    if (!set.ok()) return set;
  }
  return {};
}

Status make_arrays(hid_t root, const std::vector<ArrayDescription>& arrays, const std::string& path,
                   Hdf5Writing& writing) {
  for (const ArrayDescription& one : arrays) {
    if (H5Lexists(root, one.name.c_str(), H5P_DEFAULT) > 0) {
      return Error(ErrorCode::unsupported,
                   fmt::format("array \"{}\" cannot be added: the file already has a dimension, a "
                               "link or another object of this name",
                               printable(one.name)),
                   path);
    }
    if (one.grows) writing.share_next_header();
    if (Status made = make_hdf5_dataset(root, one, path); !made.ok()) return made;
  }
  return write_hdf5_dimensions(root, {.arrays = arrays}, path, writing);
}

// Returns the maps of the arrays whose fill value has to be written.
Result<std::vector<StoredArray>> maps_of(hid_t root, const std::vector<ArrayDescription>& arrays,
                                         const Hdf5File& about) {
  std::vector<StoredArray> maps;
  for (const ArrayDescription& one : arrays) {
    if (one.fill.empty() || !one.codecs.empty()) continue;
    const Hdf5Handle dataset(H5Dopen2(root, one.name.c_str(), H5P_DEFAULT));
    auto read = read_hdf5_dataset(about, dataset.id(), one.name);
    if (const auto* const reason = std::get_if<RefusedArray>(&read)) {
      return Error(ErrorCode::unsupported,
                   fmt::format("array \"{}\": {}", one.name, reason->reason), about.path);
    }
    maps.push_back(std::move(std::get<StoredArray>(read)));
  }
  return maps;
}

bool is_object_header(std::span<const std::byte> bytes) {
  const std::string_view signature(reinterpret_cast<const char*>(bytes.data()),
                                   std::min<std::size_t>(4, bytes.size()));
  return signature == "OHDR" || signature == "OCHK";
}

// Returns the blocks to write: new blocks, and object headers of `entered`, the blocks as they were
// before links were copied. Objects that got another link have a higher link count in their
// headers. That change is omitted, because the links in their old groups disappear.
Hdf5Blocks blocks_to_write(const Hdf5Blocks& all, const Hdf5Blocks& entered,
                           std::int64_t committed) {
  Hdf5Blocks blocks;
  for (const auto& [offset, bytes] : all) {
    const bool is_heap = std::string_view(reinterpret_cast<const char*>(bytes.data()),
                                          std::min<std::size_t>(4, bytes.size())) == "GCOL";
    if (offset >= committed || is_heap) blocks[offset] = bytes;
  }
  for (const auto& [offset, bytes] : entered) {
    if (is_object_header(bytes)) blocks[offset] = bytes;
  }
  return blocks;
}

}  // namespace

Result<HeaderUpdate> add_to_hdf5(const std::string& path, const Additions& added) {
  Hdf5Writing writing(Hdf5Writing::Writes::are_caught, 1);
  const Hdf5Handle access = writing.access();
  Hdf5Handle file(H5Fopen(path.c_str(), H5F_ACC_RDWR, access.id()));
  if (!file.ok()) return writing.failure("open the file", path, ErrorCode::io);
  const std::int64_t committed = writing.end();
  const bool has_leftovers = writing.length() != committed;
  writing.set_alignment(kept_hdf5_alignment(file.id()));
  const Hdf5File as_opened = about_hdf5_file(file.id(), path, committed, writing);
  if (as_opened.user_block > 0 || as_opened.superblock < 2) {
    return Error(ErrorCode::unsupported,
                 "nothing can be added to an HDF5 file with a format before HDF5 1.10 or with a "
                 "user block; copy it with h5repack --low=2 or weir convert",
                 path);
  }
  const auto objects = list_hdf5_objects(file.id(), path);
  if (!objects) return objects.error();
  Status done = enter_attributes(file.id(), added, objects.value(), path);
  if (!done.ok()) return done.error();
  if (H5Fflush(file.id(), H5F_SCOPE_LOCAL) < 0) {
    return hdf5_failure("enter attributes", path, ErrorCode::io);
  }
  const Hdf5Blocks entered = writing.caught();
  auto root = NewGroups(added, objects.value(), path).make(file.id());
  if (!root) return root.error();
  done = make_arrays(root.value().id(), added.arrays, path, writing);
  if (!done.ok()) return done.error();
  if (H5Fflush(file.id(), H5F_SCOPE_LOCAL) < 0) {
    return hdf5_failure("add arrays", path, ErrorCode::io);
  }
  const std::int64_t end = writing.end();
  if (end > INT64_MAX - hdf5_marker_bytes) {
    return Error(ErrorCode::unsupported, "the new arrays end beyond 2^63 bytes", path);
  }
  const auto place = hdf5_object_place(root.value().id());
  auto superblock = place ? hdf5_superblock_with(path, *place, end)
                          : hdf5_failure("find the new root group", path, ErrorCode::io);
  if (!superblock) return superblock.error();
  const auto fresh =
      maps_of(root.value().id(), added.arrays, about_hdf5_file(file.id(), path, end, writing));
  if (!fresh) return fresh.error();
  Hdf5Blocks blocks = blocks_to_write(writing.caught(), entered, committed);
  blocks[0] = std::move(superblock).value();
  // Changes by closing do not matter: the library would remove the root group, to which nothing
  // links.
  (void)root.value().close();
  (void)file.close();
  auto changes = hdf5_header_changes(blocks, path, committed);
  if (!changes) return changes.error();
  // Until the last change the file is longer than its superblock says. It stays longer if a killed
  // run left something that the next make_room() will remove.
  changes.value().emplace_back(FileEnd{has_leftovers ? end + hdf5_marker_bytes : end});
  done = set_hdf5_length(path, committed, end + hdf5_marker_bytes);
  if (done.ok()) done = write_fills_of(fresh.value());
  if (!done.ok()) return done.error();
  return HeaderUpdate{.made = {""}, .changes = std::move(changes).value()};
}

}  // namespace weir::storage
