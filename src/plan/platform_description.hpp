// Reads a platform's rates and its files' targets from a description, which `weir platform probe`
// or a user writes. The path model reads the same file, so that each figure is in one place only.
// docs/platform.md says which figure becomes which rate here.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "common/status.hpp"
#include "plan/platform_rates.hpp"
#include "topology/host_groups.hpp"
#include "topology/network.hpp"
#include "topology/topology.hpp"

namespace weir::plan {

struct PlatformDescription {
  // Rates that are not described keep their estimates; `rates.origin` names them.
  PlatformRates rates;
  topology::FileTargets targets;             // of files in the first described directory
  std::int64_t nodes_per_io_group = 0;       // consecutive nodes; 0: not described
  std::optional<topology::Network> network;  // between the nodes; nothing: not described
};

// Larger than any sensible description.
inline constexpr std::size_t most_description_bytes = std::size_t{1} << 20;

// Parses `text`, which is TOML; errors name `source`. Fails with a one-line message on any other
// text, on another format or version, and on impossible figures (not above 0, not finite).
[[nodiscard]] Result<PlatformDescription> parse_platform_description(std::string_view text,
                                                                     const std::string& source);

// Parses the I/O groups that such a description names, a table of lists of hosts
// (topology/host_list.hpp), which `weir platform discover --output` writes:
//
//     [topology.network.groups]
//     leaf1 = "n[1-4]"
//     leaf2 = "n[5-8]"
//
// Fails as parse_platform_description() does, and if no group is described.
[[nodiscard]] Result<topology::HostGroups> parse_described_groups(std::string_view text,
                                                                  const std::string& source);

}  // namespace weir::plan
