// The description of the platform that a session's prices are made of.
#pragma once

#include "capi/outcome.hpp"
#include "capi/ranks.hpp"
#include "plan/platform_description.hpp"

namespace weir::capi {

// Collective. Rank 0 reads the file and gives it to all, so that every rank has the same whatever
// it sees of the file system. `path` null: what WEIR_PLATFORM says on rank 0; no path, or an empty
// one: `platform` stays as it is.
Outcome read_platform(Ranks& ranks, const char* path, plan::PlatformDescription& platform);

}  // namespace weir::capi
