// The stripe layout that a Lustre file or directory carries in its extended attribute "lustre.lov".
// The attribute's structures are lov_user_md_v1, lov_user_md_v3 and lov_comp_md_v1 of
// Lustre's public header lustre_user.h; all fields are in the node's byte order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "topology/topology.hpp"

namespace weir::storage {

// Says how the bytes of a file, or of a part of it, are striped.
struct LustreStripes {
  std::int64_t stripe_bytes = 0;
  std::int64_t stripe_count = 1;   // -1: all targets
  std::int64_t first_target = -1;  // -1: any
  std::string pool;

  friend bool operator==(const LustreStripes&, const LustreStripes&) = default;
};

// A part of a file with stripes of its own.
struct LustreComponent {
  LustreStripes stripes;
  std::int64_t from_byte = 0;
  std::int64_t to_byte = -1;  // -1: the end of the file
  bool instantiated = true;   // its objects exist already

  friend bool operator==(const LustreComponent&, const LustreComponent&) = default;
};

// A plain layout has one component, the whole file.
struct LustreLayout {
  bool is_composite = false;
  std::vector<LustreComponent> components;
};

// Parses the attribute. Returns nothing if it is neither a plain nor a composite layout, or is
// truncated.
[[nodiscard]] std::optional<LustreLayout> parse_lustre_layout(std::span<const std::byte> value);

// Returns the indices of the targets on which the objects of a file lie, in the order of its
// stripes, one component after the other. Returns nothing if the attribute is truncated, or is
// neither a plain nor a composite layout, or if a component has no objects yet. The list is empty
// for a plain layout without objects, which a folder has.
[[nodiscard]] std::optional<std::vector<std::int64_t>> parse_lustre_objects(
    std::span<const std::byte> value);

// Returns the attribute "lustre.lov" of the file or directory at `path`; empty if there is none.
[[nodiscard]] std::vector<std::byte> lustre_attribute_of(const std::string& path);

// Returns the layout of the file or directory at `path`, or nothing if it does not lie on Lustre.
[[nodiscard]] std::optional<LustreLayout> lustre_layout_of(const std::string& path);

// Returns the stripe size and the number of targets. In a composite layout, these are those of the
// component that contains most of the file's bytes; for a file of 0 bytes or a folder, those of the
// last component, which contains most bytes of large files. `all_targets` is the number of targets
// of the file system, which applies to layouts over all targets; 0 means unknown, which counts as
// one. Returns a stripe size of 0 and one target if the layout does not specify them.
[[nodiscard]] topology::FileTargets lustre_targets(const LustreLayout& layout,
                                                   std::int64_t file_bytes,
                                                   std::int64_t all_targets);

// Returns how many targets the Lustre file system of `path` has, as this client reports below
// `statistics` (/sys/fs/lustre, formerly /proc/fs/lustre), or 0 if it does not report it. `mounts`
// is /proc/self/mountinfo.
[[nodiscard]] std::int64_t lustre_target_count(const std::string& path, const std::string& mounts,
                                               const std::string& statistics);

}  // namespace weir::storage
