// How files lie on their storage, as far as the file system tells.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/status.hpp"
#include "topology/topology.hpp"

namespace weir::storage {

// The targets of the file or folder at `path`. What a file system prefers to move at once
// (st_blksize) is its stripe where it is more than a page; where nodes take locks on a file's
// blocks (Lustre, GPFS and others, known by statfs), it is the lock block too. On Lustre stripes
// and their number are known better, by the file's layout; elsewhere no call tells how many targets
// there are: one. Network file systems whose clients' caches are not kept coherent are known by
// their type.
[[nodiscard]] Result<topology::FileTargets> file_targets(const std::string& path);

// The targets, from what the system calls said; `lustre` as lustre_targets() gives it, where the
// file lies on Lustre. Pure.
[[nodiscard]] topology::FileTargets targets_of(
    std::uint32_t file_system, std::int64_t block_bytes,
    const std::optional<topology::FileTargets>& lustre = std::nullopt);

// Whether the caches of a file system's clients are coherent, by statfs's number of it and, where
// that says only FUSE, by the type in the table of mounts. True for those that are not known.
[[nodiscard]] bool has_coherent_caches(std::uint32_t file_system, const std::string& mount_type);

}  // namespace weir::storage
