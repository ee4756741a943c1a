#include "aggregation/requested_part.hpp"

#include <algorithm>
#include <map>
#include <utility>

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

Result<plan::Request> request_for(std::vector<RequestedPart>& parts, plan::Direction direction) {
  plan::Request request{direction, {}};
  std::int64_t files = 0;
  std::map<const OpenArray*, std::int64_t> first_files;
  for (RequestedPart& one : parts) {
    auto image = image_of(one.file->array(), one.file->grid());
    if (!image) return image.error();
    // An array that occurs again has the same files.
    const auto [known, is_new] = first_files.emplace(one.file, files);
    one.first_file = known->second;
    if (is_new) files += image.value().files();
    request.arrays.push_back(
        {std::move(image).value(), *one.part->memory, one.part->section, one.first_file});
  }
  return request;
}

// As the settings have it, and the files' own file system where they leave it open.
topology::FileTargets targets_of(const std::vector<RequestedPart>& parts,
                                 const topology::FileTargets& set) {
  topology::FileTargets targets = set;
  for (const RequestedPart& one : parts) {
    const topology::FileTargets& told = one.file->targets();
    if (set.count == 1) targets.count = std::max(targets.count, told.count);
    if (set.stripe_bytes == 0) {
      targets.stripe_bytes = std::max(targets.stripe_bytes, told.stripe_bytes);
    }
    if (set.lock_bytes == 0) targets.lock_bytes = std::max(targets.lock_bytes, told.lock_bytes);
  }
  return targets;
}

}  // namespace

Result<std::shared_ptr<const plan::Planned>> plan_request(plan::Planner& planner,
                                                          const CollectiveSettings& settings,
                                                          std::vector<RequestedPart>& parts,
                                                          plan::Direction direction) {
  const auto request = request_for(parts, direction);
  if (!request) return request.error();
  plan::Overrides overrides;
  overrides.strategy = settings.strategy;
  overrides.aggregators_per_node = settings.aggregators;
  overrides.buffer_bytes = settings.buffer_bytes;
  if (settings.alignment_bytes > 0) overrides.alignment = settings.alignment_bytes;
  overrides.targets = targets_of(parts, settings.targets);
  return planner.plan(request.value(), overrides);
}

}  // namespace weir::aggregation
