// A function that computes checksums from the file for blocks whose checksums cannot be combined
// from those of the written parts, because parts overlap or are too many.
#pragma once

#include <cstdint>
#include <functional>

#include "checksums/array_places.hpp"
#include "checksums/block_sums.hpp"
#include "common/status.hpp"
#include "system/slices.hpp"

namespace weir::storage {

// Fills the slice with the bytes at an offset of a file of the array.
using ReadBytes = std::function<Status(std::int64_t file, std::int64_t offset, const Slice& slice)>;

// Adds to `sums` the checksums of the bytes in a block that belong to the array with these places.
Status sum_again(const ArrayPlaces& places, const BlockSums::Block& block, const ReadBytes& read,
                 BlockSums& sums);

}  // namespace weir::storage
