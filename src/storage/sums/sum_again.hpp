// Blocks whose checksum does not follow from what was written, because parts overlap or are many:
// they are read as they are in the file.
#pragma once

#include <cstdint>
#include <functional>

#include "common/status.hpp"
#include "storage/engines/slices.hpp"
#include "storage/sums/array_places.hpp"
#include "storage/sums/block_sums.hpp"

namespace weir::storage {

// Fills the slice from an offset of the array's file.
using ReadBytes = std::function<Status(std::int64_t file, std::int64_t offset, const Slice& slice)>;

// Adds the sums of what lies in a block of the array that has these places.
Status sum_again(const ArrayPlaces& places, const BlockSums::Block& block, const ReadBytes& read,
                 BlockSums& sums);

}  // namespace weir::storage
