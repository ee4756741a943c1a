#include "checksums/sum_again.hpp"

#include <cstddef>
#include <vector>

namespace weir::storage {

Status sum_again(const ArrayPlaces& places, const BlockSums::Block& block, const ReadBytes& read,
                 BlockSums& sums) {
  std::vector<std::byte> room;
  Status status;
  // Reads at most one block at a time.
  const auto sum = [&](std::int64_t begin, std::int64_t end) {
    if (!status.ok()) return;
    room.resize(static_cast<std::size_t>(end - begin));
    const Slice slice{room.data(), end - begin};
    status = read(block.file, begin, slice);
    if (status.ok()) sums.add(block.file, begin, end - begin, {&slice, 1});
  };
  places.for_each_in(block.file, block.begin, block.begin + sum_block_bytes, sum);
  return status;
}

}  // namespace weir::storage
