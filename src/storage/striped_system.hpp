// The file systems that let a program choose how a new file lies on their targets.
#pragma once

#include <cstdint>
#include <string>

#include "common/status.hpp"
#include "storage/mounts.hpp"
#include "storage/striping.hpp"

namespace weir::storage {

enum class StripedSystem : std::uint8_t { lustre, ceph };

// The one that the folder lies on, as the type of its mount tells, if files there can be striped
// so. Error `unsupported`, with the type of the file system, where they cannot.
[[nodiscard]] Result<StripedSystem> striped_system_of(
    const std::string& folder, const Striping& striping,
    const std::string& mounts = mounts_of_this_process);

}  // namespace weir::storage
