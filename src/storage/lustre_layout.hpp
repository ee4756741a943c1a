// The stripe layout that a Lustre file or directory carries in its extended attribute "lustre.lov".
// The attribute's structures are lov_user_md_v1, lov_user_md_v3 and lov_comp_md_v1 of
// Lustre's public header lustre_user.h; all fields are in the node's byte order.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>

#include "topology/topology.hpp"

namespace weir::storage {

// {"stripe_bytes", "stripe_count" (-1: all targets), "first_target" (-1: any), "pool"} of a plain
// layout; {"components": [the same with "from_byte" and "to_byte" (-1: the end)]} of a composite
// one. Nothing when the attribute is neither or is cut short.
[[nodiscard]] std::optional<nlohmann::json> parse_lustre_layout(std::span<const std::byte> value);

// The layout of the file or directory at `path`; nothing when it does not lie on Lustre.
[[nodiscard]] std::optional<nlohmann::json> lustre_layout_of(const std::string& path);

// Stripes and how many targets have them; of a composite layout those of its last component, which
// large files mostly lie in. 0 stripes and one target where the layout leaves that open.
[[nodiscard]] topology::FileTargets lustre_targets(const nlohmann::json& layout);

}  // namespace weir::storage
