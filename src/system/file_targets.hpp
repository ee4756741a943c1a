// The placement of files on their storage, as far as the file system reports it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "system/file_facts.hpp"
#include "topology/topology.hpp"

namespace weir::storage {

// Returns the targets of the file or folder at `path`, of which `facts` are known. The preferred
// I/O size of the file system (st_blksize) counts as the stripe size if it is more than a page. If
// nodes lock blocks of a file (Lustre, GPFS and others, recognized by statfs), it also counts as
// the lock size. On Lustre, the file's layout gives the exact stripe size and count; elsewhere no
// system call reports the number of targets, so it is one. Network file systems whose clients do
// not have coherent caches are recognized by their type.
[[nodiscard]] topology::FileTargets file_targets(const std::string& path, const FileFacts& facts);

// Computes the targets from the results of the system calls. `lustre` is the result of
// lustre_targets() if the file lies on Lustre. The function makes no system calls.
[[nodiscard]] topology::FileTargets targets_of(
    std::uint32_t file_system, std::int64_t block_bytes,
    const std::optional<topology::FileTargets>& lustre = std::nullopt);

// Returns whether the caches of a file system's clients are coherent, by the number that statfs
// returns and, for FUSE, by the type in the mount table. Returns true for unknown file systems.
[[nodiscard]] bool has_coherent_caches(std::uint32_t file_system, const std::string& mount_type);

}  // namespace weir::storage
