// Converts what the library would have written into the update that a commit applies.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "formats/hdf5/write_driver.hpp"
#include "formats/header_update.hpp"

namespace weir::storage {

// Returns the changes to a file that is `committed` bytes long for readers. If steps are added, the
// order of the changes is
//
//     new blocks, behind the file's end     nothing refers to them yet; heaps, which get entries
//     the superblock                        the file's end: writers refuse what lies behind it
//     blocks of indices of chunks           entries for chunks outside all extents are added
//     object headers                        the extents: readers see the steps
//
// If steps are dropped, the object headers come before the blocks of indices and the superblock,
// which then has an earlier end:
//
//     new blocks, object headers, blocks of indices, the superblock
//
// Each block is a write of its own, except that all object headers in one page are one write. Fails
// if a block in the middle of the file is not of a kind that grows in place.
enum class Hdf5Commit : std::uint8_t { of_more_steps, of_fewer_steps };
[[nodiscard]] Result<std::vector<HeaderChange>> hdf5_header_changes(
    const Hdf5Blocks& caught, const std::string& path, std::int64_t committed,
    Hdf5Commit kind = Hdf5Commit::of_more_steps);

}  // namespace weir::storage
