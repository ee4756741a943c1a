#include "aggregation/requested_part.hpp"

namespace weir::aggregation {
namespace {

Result<plan::Image> image_of(const storage::RawArray& array, const array::ChunkGrid& grid) {
  if (!array.chunk_extents) {
    const auto dense = plan::FileImage::create(array.shape, array.type, array.order, array.offset);
    if (!dense) return dense.error();
    return plan::Image(dense.value());
  }
  // As raw_array.hpp describes it: slots without gaps.
  const plan::ChunkPlacement placement{array.offset, 1, array.files, array.turn};
  const auto chunked = plan::ChunkedImage::create(grid, array.type, array.order, placement);
  if (!chunked) return chunked.error();
  return plan::Image(chunked.value());
}

}  // namespace

Result<plan::Request> request_for(std::vector<RequestedPart>& parts, plan::Direction direction) {
  plan::Request request{direction, {}};
  std::int64_t files = 0;
  for (RequestedPart& one : parts) {
    one.first_file = files;
    auto image = image_of(one.file->array(), one.file->grid());
    if (!image) return image.error();
    files += image.value().files();
    request.arrays.push_back(
        {std::move(image).value(), *one.part->memory, one.part->section, one.first_file});
  }
  return request;
}

}  // namespace weir::aggregation
