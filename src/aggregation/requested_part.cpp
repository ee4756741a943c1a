#include "aggregation/requested_part.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "common/checked.hpp"
#include "plan/choice.hpp"

namespace weir::aggregation {
namespace {

Result<plan::Request> request_for(std::vector<RequestedPart>& parts, plan::Direction direction,
                                  std::int64_t alignment) {
  plan::Request request{direction, {}};
  std::int64_t files = 0;
  // Arrays of one file, and an array that occurs again, have the same files.
  std::map<std::string, std::int64_t> first_files;
  for (RequestedPart& one : parts) {
    auto image = one.file->image(alignment);
    if (!image) {
      Error error = image.error();
      error.file = one.file->path();
      return error;
    }
    const std::int64_t first_stored = image.value().first_file;
    const auto [known, is_new] =
        first_files.emplace(one.file->map().files.path(first_stored), files);
    if (is_new) files += image.value().image.files();
    one.file_shift = first_stored - known->second;
    one.base = image.value().base;
    request.arrays.push_back(
        {std::move(image).value().image, *one.part->memory, one.part->section, known->second});
  }
  return request;
}

// As the settings have it, and the files' own file system where they leave it open.
topology::FileTargets targets_of(const std::vector<RequestedPart>& parts,
                                 const topology::FileTargets& set) {
  topology::FileTargets targets = set;
  for (const RequestedPart& one : parts) {
    const topology::FileTargets& told = one.file->origin().targets;
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
  plan::Overrides overrides;
  overrides.strategy = settings.strategy;
  overrides.engines = settings.engine ? plan::Engines::only(*settings.engine) : settings.engines;
  overrides.aggregators_per_node = settings.aggregators;
  overrides.buffer_bytes = settings.buffer_bytes;
  if (settings.alignment_bytes > 0) overrides.alignment = settings.alignment_bytes;
  overrides.targets = targets_of(parts, settings.targets);
  const std::int64_t alignment =
      overrides.alignment.value_or(plan::alignment_for(*overrides.targets));
  // Whole turns of the stripes, so that each aggregator keeps its targets from step to step.
  const auto turn = checked_multiply(alignment, overrides.targets->count);
  const auto request = request_for(parts, direction, turn.value_or(alignment));
  if (!request) return request.error();
  return planner.plan(request.value(), overrides);
}

}  // namespace weir::aggregation
