// The file systems that let a program choose the striping of a new file.
#pragma once

#include <cstdint>
#include <string>

#include "common/status.hpp"
#include "system/mounts.hpp"
#include "system/striping.hpp"

namespace weir::storage {

enum class StripedSystem : std::uint8_t { lustre, ceph };

// Returns the file system of the folder, according to the type of its mount. Fails with
// `unsupported` and the type of the file system if it does not support the given striping.
[[nodiscard]] Result<StripedSystem> striped_system_of(
    const std::string& folder, const Striping& striping,
    const std::string& mounts = mounts_of_this_process);

}  // namespace weir::storage
