// A platform's rates and its files' targets, from the description that `weir platform probe` writes
// or that people write by hand: the file that the path model reads too, so that each figure has one
// home. docs/platform.md says which figure of it is which rate here.
#pragma once

#include <string>
#include <string_view>

#include "common/status.hpp"
#include "plan/platform_rates.hpp"
#include "topology/topology.hpp"

namespace weir::plan {

struct PlatformDescription {
  // What is not described keeps its estimate; `rates.origin` names it.
  PlatformRates rates;
  topology::FileTargets targets;  // of files in the first directory that is described
};

// No description needs more.
inline constexpr std::size_t most_description_bytes = std::size_t{1} << 20;

// `text` is TOML; `source` names it in errors. Fails with one line on anything else, on another
// format or version, and on figures that cannot be (not above 0, not finite).
[[nodiscard]] Result<PlatformDescription> parse_platform_description(std::string_view text,
                                                                     const std::string& source);

}  // namespace weir::plan
