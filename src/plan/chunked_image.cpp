#include "plan/chunked_image.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "array/number_theory.hpp"
#include "common/checked.hpp"

namespace weir::plan {
namespace {

Status check_offset(std::int64_t offset, std::int64_t slot_alignment) {
  if (offset < 0 || slot_alignment < 1) {
    return invalid_argument(
        fmt::format("chunks {} bytes from the start of a file, in slots of a multiple of {} bytes: "
                    "give at least 0 and 1",
                    offset, slot_alignment));
  }
  return {};
}

}  // namespace

Result<ChunkedImage> ChunkedImage::create(const array::ChunkGrid& grid,
                                          const array::ElementType& type, array::Order order,
                                          const ChunkPlacement& placement) {
  if (Status status = check_offset(placement.offset, placement.slot_alignment); !status) {
    return status.error();
  }
  if (placement.files < 1) {
    return invalid_argument(fmt::format("chunks in {} files: give at least 1", placement.files));
  }
  ChunkedImage image(grid, type.bytes(), order);
  image.offset_ = placement.offset;
  image.files_ = placement.files;
  image.dealing_ = placement.turn_per_group
                       ? array::SpreadDealing::turning(placement.files, *placement.turn_per_group)
                       : array::SpreadDealing::for_grid(grid, 1, placement.files);
  if (Status status = image.settle_slots(placement.slot_alignment); !status) return status.error();
  return image;
}

Result<ChunkedImage> ChunkedImage::per_rank(const array::RegularDistribution& owners,
                                            const array::ElementType& type, array::Order order,
                                            std::int64_t offset, std::int64_t slot_alignment) {
  if (Status status = check_offset(offset, slot_alignment); !status) return status.error();
  ChunkedImage image(array::ChunkGrid::natural(owners), type.bytes(), order);
  image.offset_ = offset;
  image.files_ = owners.ranks();
  image.owners_ = owners;
  if (Status status = image.settle_slots(slot_alignment); !status) return status.error();
  return image;
}

Status ChunkedImage::settle_slots(std::int64_t slot_alignment) {
  std::int64_t elements = 1;  // at most as many as the array has, or 1
  for (const std::int64_t extent : grid_.chunk_extents()) elements *= extent;
  const auto bytes = checked_multiply(elements, element_bytes_);
  const auto slot = bytes ? checked_round_up(*bytes, slot_alignment) : bytes;
  // The file with the most slots; per rank, more than any has.
  const std::int64_t most = owners_ ? grid_.chunks() : array::divide_up(grid_.chunks(), files_);
  const auto all = slot ? checked_multiply(*slot, most) : slot;
  const auto end = all ? checked_add(*all, offset_) : all;
  if (!end) {
    return invalid_argument(
        fmt::format("chunks of {} of an array of {}: their places in the file do not fit into 63 "
                    "bits",
                    array::extents_text(grid_.chunk_extents()), shape().text()));
  }
  slot_bytes_ = *slot;
  return {};
}

std::int64_t ChunkedImage::chunks_of(std::int64_t rank) const {
  const array::Region part = owners_->part(rank);
  if (part.empty()) return 0;
  std::int64_t chunks = 1;
  for (int d = 0; d < part.dimensions(); ++d) {
    chunks *= array::divide_up(part.along(d).size(), grid_.chunk_extents()[d]);
  }
  return chunks;
}

std::int64_t ChunkedImage::slots(std::int64_t file) const {
  if (owners_) return chunks_of(file);
  const std::int64_t chunks = grid_.chunks();
  const std::int64_t whole = chunks / files_;
  if (chunks % files_ == 0) return whole;
  return dealing_.number(file, whole) < chunks ? whole + 1 : whole;
}

ChunkedImage::Place ChunkedImage::place_of(std::int64_t chunk) const {
  if (!owners_) {
    return {dealing_.holder(chunk), offset_ + chunk / files_ * slot_bytes_};
  }
  const array::Box box = grid_.box(chunk);
  const std::int64_t rank = owners_->owner(box.lower);
  const array::Region part = owners_->part(rank);
  std::int64_t slot = 0;
  for (int d = 0; d < part.dimensions(); ++d) {
    // All of a rank's blocks before this one are whole.
    const std::int64_t extent = grid_.chunk_extents()[d];
    slot = slot * array::divide_up(part.along(d).size(), extent) +
           part.along(d).position(box.lower[d]) / extent;
  }
  return {rank, offset_ + slot * slot_bytes_};
}

bool operator==(const ChunkedImage& a, const ChunkedImage& b) {
  return a.grid_ == b.grid_ && a.element_bytes_ == b.element_bytes_ && a.order_ == b.order_ &&
         a.offset_ == b.offset_ && a.slot_bytes_ == b.slot_bytes_ && a.files_ == b.files_ &&
         a.dealing_ == b.dealing_ && a.owners_ == b.owners_;
}

}  // namespace weir::plan
