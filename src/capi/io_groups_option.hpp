// Finds where the I/O groups of a session's nodes come from.
#pragma once

#include <cstdint>

#include "capi/outcome.hpp"
#include "capi/ranks.hpp"
#include "capi/session_options.hpp"

namespace weir::capi {

// Sets the I/O groups of the settings, or what this rank knows of its node's place: the given
// groups count, else those of the platform's description, whose nodes of each group are
// `described_nodes_per_group` (0: not described). Collective if the option names a file. All ranks
// return the same error.
Outcome choose_io_groups(Ranks& ranks, SessionOptions& chosen,
                         std::int64_t described_nodes_per_group);

}  // namespace weir::capi
