// The stripe layout that a Lustre file or directory carries in its extended attribute "lustre.lov".
// The attribute's structures are lov_user_md_v1, lov_user_md_v3 and lov_comp_md_v1 of
// Lustre's public header lustre_user.h; all fields are in the node's byte order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>

#include "topology/topology.hpp"

namespace weir::storage {

// {"stripe_bytes", "stripe_count" (-1: all targets), "first_target" (-1: any), "pool"} of a plain
// layout; {"components": [the same with "from_byte", "to_byte" (-1: the end) and "instantiated":
// whether it has its objects yet]} of a composite one. Nothing when the attribute is neither or is
// cut short.
[[nodiscard]] std::optional<nlohmann::json> parse_lustre_layout(std::span<const std::byte> value);

// The layout of the file or directory at `path`; nothing when it does not lie on Lustre.
[[nodiscard]] std::optional<nlohmann::json> lustre_layout_of(const std::string& path);

// Stripes and how many targets have them. Of a composite layout those of the component that most of
// the file's bytes lie in, of a file of 0 bytes or a folder those of the last one, which large
// files mostly lie in. `all_targets`: of the file system, for layouts over all of them; 0: not
// known, then they count as one. 0 stripes and one target where the layout leaves that open.
[[nodiscard]] topology::FileTargets lustre_targets(const nlohmann::json& layout,
                                                   std::int64_t file_bytes,
                                                   std::int64_t all_targets);

// How many targets the Lustre file system has that `path` lies in, as this client tells below
// `statistics` (/sys/fs/lustre, formerly /proc/fs/lustre); `mounts` is /proc/self/mounts. 0: it
// does not tell.
[[nodiscard]] std::int64_t lustre_target_count(const std::string& path, const std::string& mounts,
                                               const std::string& statistics);

}  // namespace weir::storage
