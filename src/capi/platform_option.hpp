// Reads the description of the platform, from which a session estimates times.
#pragma once

#include "capi/outcome.hpp"
#include "capi/ranks.hpp"
#include "plan/platform_description.hpp"

namespace weir::capi {

// Sets `platform` from the file at `path`. A null `path` stands for WEIR_PLATFORM on rank 0.
// Without a path, or with an empty one, `platform` is unchanged. Collective: rank 0 reads the file
// and sends it to all ranks, so that every rank has the same description whatever it sees of the
// file system.
Outcome read_platform(Ranks& ranks, const char* path, plan::PlatformDescription& platform);

}  // namespace weir::capi
