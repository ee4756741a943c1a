#include "sections/section_verifier.hpp"

#include <optional>
#include <utility>

#include "stored/read_range.hpp"
#include "system/slices.hpp"

namespace weir::storage {

SectionVerifier::SectionVerifier(const StoredArray& array, std::shared_ptr<const KnownSums> known,
                                 const FileMap& file, DataFileCache& files, VerifiedBlocks which)
    : map_(array.map), files_(files), which_(which), sums_(known->path()) {
  sums_.set_place(map_, std::nullopt);
  sums_.verify(std::move(known), file);
}

Status SectionVerifier::has_read(const StoredRange& range) {
  Status status = sums_.has_read(range);
  // Completes blocks early enough that no touched block is omitted for lack of room.
  const bool full = sums_.incomplete_parts() >= ArraySums::most_parts / 2;
  return status.ok() && full && which_ == VerifiedBlocks::touched ? end() : status;
}

Status SectionVerifier::is_missing(std::int64_t file) {
  if (!sums_.knows(file)) return {};
  return Error(ErrorCode::corrupt, "the file is missing, and there are checksums of what was in it",
               map_.files.path(file));
}

Status SectionVerifier::end() {
  const auto which = which_ == VerifiedBlocks::touched ? ArraySums::Completing::all
                                                       : ArraySums::Completing::nearly_whole;
  return sums_.end_reading(which, [&](const StoredRange& range) -> Status {
    std::int64_t offset = range.offset;
    for (const Slice& slice : range.slices) {
      const auto there = read_range(map_, files_, range.file, offset, slice);
      if (!there) return there.error();
      if (!there.value()) return is_missing(range.file);
      offset += slice.bytes;
    }
    return {};
  });
}

}  // namespace weir::storage
