#include "plan/chunked_image.hpp"

#include <fmt/format.h>

#include <utility>

#include "array/number_theory.hpp"
#include "common/checked.hpp"

namespace weir::plan {
namespace {

Error does_not_fit(const array::ChunkGrid& grid) {
  return invalid_argument(
      fmt::format("chunks of {} of an array of {} need more than 2^63 bytes of the file",
                  array::extents_text(grid.chunk_extents()), grid.shape().text()));
}

}  // namespace

Result<ChunkedImage> ChunkedImage::create(const array::ChunkGrid& grid,
                                          const array::ElementType& type, array::Order order,
                                          const ChunkPlacement& placement) {
  if (placement.offset < 0 || placement.slot_alignment < 1) {
    return invalid_argument(
        fmt::format("chunks begin {} bytes from the start of a file, in slots of a multiple of {} "
                    "bytes: give at least 0 and 1",
                    placement.offset, placement.slot_alignment));
  }
  if (placement.files < 1) {
    return invalid_argument(
        fmt::format("chunks are in {} files: give at least 1", placement.files));
  }
  ChunkedImage image(grid, type.bytes(), order);
  image.files_ = placement.files;
  if (Status status = image.settle_chunk_bytes(); !status.ok()) return status.error();
  const auto slot = checked_round_up(image.chunk_bytes_, placement.slot_alignment);
  // The file with the most slots.
  const std::int64_t most = array::divide_up(grid.chunks(), placement.files);
  const auto all = slot ? checked_multiply(*slot, most) : slot;
  const auto end = all ? checked_add(*all, placement.offset) : all;
  if (!end) return does_not_fit(grid);
  const auto declustering =
      placement.turn_per_group
          ? array::Declustering::turning(placement.files, *placement.turn_per_group)
          : array::Declustering::for_grid(grid, 1, placement.files);
  image.places_ = std::make_shared<const array::ChunkPlaces>(
      array::SlotsInTurn{placement.files, placement.offset, *slot, declustering.turn_per_group()});
  return image;
}

Result<ChunkedImage> ChunkedImage::at(const array::ChunkGrid& grid, const array::ElementType& type,
                                      array::Order order, array::ChunkPlaces places,
                                      std::int64_t files,
                                      const std::optional<array::Indices>& stored_extents) {
  ChunkedImage image(grid, type.bytes(), order);
  image.files_ = files;
  image.stored_extents_ = stored_extents;
  image.places_ = std::make_shared<const array::ChunkPlaces>(std::move(places));
  if (Status status = image.settle_chunk_bytes(); !status.ok()) return status.error();
  return image;
}

Status ChunkedImage::settle_chunk_bytes() {
  std::optional<std::int64_t> bytes = element_bytes_;
  for (const std::int64_t extent : stored_extents_ ? *stored_extents_ : grid_.chunk_extents()) {
    if (bytes) bytes = checked_multiply(*bytes, extent);
  }
  if (!bytes) return does_not_fit(grid_);
  chunk_bytes_ = *bytes;
  return {};
}

bool operator==(const ChunkedImage& a, const ChunkedImage& b) {
  return a.grid_ == b.grid_ && a.element_bytes_ == b.element_bytes_ && a.order_ == b.order_ &&
         a.files_ == b.files_ && a.stored_extents_ == b.stored_extents_ &&
         (a.places_ == b.places_ || *a.places_ == *b.places_);
}

}  // namespace weir::plan
