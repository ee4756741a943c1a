#include "checksums/written_sums.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "checksums/array_places.hpp"
#include "checksums/block_owner.hpp"
#include "checksums/sum_again.hpp"
#include "stored/read_range.hpp"

namespace weir::storage {
namespace {

// Maximum number of parts of all arrays in addition to one for each block: 32 MiB.
constexpr std::size_t most_loose_parts = std::size_t{1} << 20;
constexpr std::size_t most_loose_in_write = std::size_t{1} << 14;

void name_runs(const BlockSums& sums, const DataFiles& files, const std::string& root,
               std::vector<NamedRun>& named) {
  for (SummedRun& run : sums.runs()) {
    const auto name = name_below(root, files.path(run.file));
    if (name) named.push_back({*name, run.offset, run.bytes, std::move(run.sums)});
  }
}

}  // namespace

WrittenSums::WrittenSums(std::size_t arrays)
    : arrays_(arrays, BlockSums(most_loose_parts / std::max<std::size_t>(1, arrays))) {}

BlockSums WrittenSums::of_one_write() {
  BlockSums sums(most_loose_in_write);
  sums.set_turn(1);  // all writes have one turn: bytes written by two of them are unclear
  return sums;
}

void WrittenSums::add(std::int64_t array, const BlockSums& written) {
  const std::lock_guard lock(mutex_);
  arrays_[static_cast<std::size_t>(array)].add(written);
}

Result<std::vector<NamedRun>> WrittenSums::runs(const FileMap& map, const std::string& root,
                                                DataFileCache& files) const {
  std::vector<NamedRun> named;
  for (std::size_t i = 0; i < arrays_.size(); ++i) {
    const ExtentMap& array = map.arrays[i].map;
    name_runs(arrays_[i], array.files, root, named);
    const auto unclear = arrays_[i].unclear();
    if (unclear.empty()) continue;
    const ArrayPlaces places = ArrayPlaces::of(array, std::nullopt);
    BlockSums again(std::numeric_limits<std::size_t>::max());
    for (const BlockSums::Block& block : unclear) {
      Status summed = sum_again(
          places, block,
          [&](std::int64_t file, std::int64_t offset, const Slice& slice) -> Status {
            const auto read = read_range(array, files, file, offset, slice);
            return read ? Status() : Status(read.error());
          },
          again);
      if (!summed.ok()) return summed.error();
    }
    name_runs(again, array.files, root, named);
  }
  return named;
}

}  // namespace weir::storage
