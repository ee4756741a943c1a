#include "aggregation/requested_part.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "common/checked.hpp"
#include "plan/choice.hpp"

namespace weir::aggregation {
namespace {

// The dense arrays of one file. They have a common base, so that a plan may move them together. If
// all are small, and are therefore moved together, the base is the place of the first one: the plan
// then serves every step, whatever the distances between steps.
struct InFile {
  std::int64_t base = 0;   // the smallest base
  std::int64_t place = 0;  // the smallest offset of a first byte
  std::int64_t arrays = 0;
  bool all_small = true;
};

void give_bases(std::vector<RequestedPart>& parts, plan::Request& request,
                std::int64_t buffer_bytes) {
  std::map<std::int64_t, InFile> in_files;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const plan::ArrayRequest& one = request.arrays[i];
    if (one.image.dense() == nullptr) continue;
    const std::int64_t base = parts[i].base;
    const std::int64_t place = base + one.image.dense()->offset();
    InFile& found =
        in_files.emplace(one.first_file, InFile{.base = base, .place = place}).first->second;
    found.base = std::min(found.base, base);
    found.place = std::min(found.place, place);
    found.all_small = found.all_small && plan::is_small(one, one.section, buffer_bytes);
    ++found.arrays;
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    plan::ArrayRequest& one = request.arrays[i];
    const plan::FileImage* const dense = one.image.dense();
    if (dense == nullptr) continue;
    const InFile& file = in_files.at(one.first_file);
    const std::int64_t base = file.arrays > 1 && file.all_small ? file.place : file.base;
    if (base == parts[i].base) continue;
    one.image = dense->at(parts[i].base + dense->offset() - base);
    parts[i].base = base;
  }
}

Result<plan::Request> request_for(std::vector<RequestedPart>& parts, Direction direction,
                                  std::int64_t alignment, std::int64_t buffer_bytes) {
  plan::Request request{direction, {}};
  request.arrays.reserve(parts.size());
  std::int64_t files = 0;
  // Arrays in one file, and an array that occurs again, have the same files.
  std::map<std::string, std::int64_t> first_files;
  for (RequestedPart& one : parts) {
    auto image = one.file->image(alignment, direction);
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
    const array::Section* const section = one.part->section;
    request.arrays.push_back(
        {std::move(image).value().image, *one.part->memory,
         section != nullptr ? *section : array::Section::of(one.file->shape().box()), known->second,
         one.file->encoded() == nullptr});
  }
  give_bases(parts, request, buffer_bytes);
  return request;
}

// Returns whether a known request matches these parts, all of them small and dense in one file. If
// so, sets their bases, without creating images and a request.
bool is_for(const plan::CachedRequest& known, std::vector<RequestedPart>& parts,
            Direction direction, std::int64_t buffer_bytes) {
  const plan::Request& request = known.request();
  if (request.direction != direction || request.arrays.size() != parts.size() || parts.size() < 2) {
    return false;
  }
  const storage::DataFiles& files = parts.front().file->map().files;
  std::int64_t base = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const OpenArray& file = *parts[i].file;
    const auto place = file.dense_place();
    const auto offset = known.dense_offset(i);
    if (!place || !offset) return false;
    if (i == 0) base = *place - *offset;
    if (*place - *offset != base) return false;
    if (parts[i].like_before && known.is_like_before(i)) continue;
    const plan::ArrayRequest& one = request.arrays[i];
    const plan::FileImage& image = *one.image.dense();
    const array::Section* const section = parts[i].part->section;
    const bool same =
        one.first_file == 0 && one.in_bundles && image.shape() == file.shape() &&
        image.element_bytes() == file.type().bytes() && image.order() == file.map().order &&
        one.section == (section != nullptr ? *section : array::Section::of(file.shape().box())) &&
        plan::is_small(one, one.section, buffer_bytes) && (i == 0 || file.map().files == files) &&
        one.memory == *parts[i].part->memory;
    if (!same) return false;
  }
  if (base < 0) return false;
  for (RequestedPart& one : parts) {
    one.file_shift = 0;
    one.base = base;
  }
  return true;
}

// Returns the targets from the settings, completed by the files' own file system.
topology::FileTargets targets_of(const std::vector<RequestedPart>& parts,
                                 const topology::FileTargets& set) {
  topology::FileTargets targets = set;
  bool any_written = false;
  for (const RequestedPart& one : parts) {
    if (one.like_before) continue;  // its targets are the same
    const topology::FileTargets& told = one.file->origin().targets;
    if (set.count == 1) targets.count = std::max(targets.count, told.count);
    if (set.stripe_bytes == 0) {
      targets.stripe_bytes = std::max(targets.stripe_bytes, told.stripe_bytes);
    }
    if (set.lock_bytes == 0) targets.lock_bytes = std::max(targets.lock_bytes, told.lock_bytes);
    // Opening a file shows earlier writes, so files that are only read do not matter.
    any_written = any_written || one.file->writable();
    targets.coherent_caches = targets.coherent_caches && told.coherent_caches;
  }
  targets.coherent_caches = targets.coherent_caches || !any_written;
  return targets;
}

// Plans that an encoded chunk, or a shard of them, is written by a single aggregator, which gathers
// from all ranks or is on the only node. Shards too long for that are all written by one
// aggregator.
Result<std::shared_ptr<const plan::Planned>> plan_encoded(plan::Planner& planner,
                                                          const plan::Request& request,
                                                          plan::Overrides overrides,
                                                          const std::vector<RequestedPart>& parts) {
  bool in_long_shards = false;
  for (const RequestedPart& one : parts) {
    if (one.file->encoded() == nullptr) continue;
    in_long_shards = in_long_shards || one.file->has_long_shards();
    if (!one.file->has_chunk_table() || one.file->has_places()) continue;
    return Error(ErrorCode::unsupported,
                 fmt::format("array \"{}\": encoded chunks in one file cannot be rewritten in "
                             "place: write them in a step",
                             one.file->name()),
                 one.file->path());
  }
  if (in_long_shards) {
    overrides.aggregators_per_node = 1;
  } else if (!overrides.aggregators_per_node) {
    // Prices do not include encoding, which can use all cores.
    overrides.aggregators_per_node = planner.most_aggregators_per_node();
  }
  const bool wants_all = overrides.strategy == plan::Strategy::two_phase ||
                         overrides.strategy == plan::Strategy::server_directed;
  if (!wants_all) {
    overrides.strategy = overrides.targets->coherent_caches ? plan::Strategy::node_aggregation
                                                            : plan::Strategy::two_phase;
  }
  const auto writers = [&](const plan::Planned& planned, std::int64_t each) {
    return each * plan::Plan::groups(planned.plan->topology(), *overrides.strategy);
  };
  auto planned = planner.plan(request, overrides);
  if (planned && writers(*planned.value(), 1) > 1 && !wants_all) {
    overrides.strategy = plan::Strategy::two_phase;
    planned = planner.plan(request, overrides);
  }
  if (!planned) return planned;
  const bool alone =
      writers(*planned.value(), 1) == 1 &&
      (!in_long_shards || writers(*planned.value(), planned.value()->plan->aggregators()) == 1);
  if (alone) return planned;
  return Error(ErrorCode::unsupported,
               in_long_shards ? "one aggregator must write encoded shards of such long rows: set "
                                "aggregators for one node"
                              : "encoded chunks need aggregators that gather from all ranks, but "
                                "I/O groups separate the ranks: open the session without io_groups "
                                "(WEIR_IO_GROUPS)",
               parts.front().file->path());
}

// `in_one_group`: as if all nodes were one I/O group.
Result<std::shared_ptr<const plan::Planned>> plan_in(plan::Planner& planner,
                                                     const CollectiveSettings& settings,
                                                     std::vector<RequestedPart>& parts,
                                                     Direction direction, bool in_one_group) {
  plan::Overrides overrides;
  overrides.in_one_group = in_one_group;
  overrides.strategy = settings.strategy;
  const auto all_are = [&](auto&& what) {
    return std::all_of(parts.begin(), parts.end(),
                       [&](const RequestedPart& one) { return what(*one.file); });
  };
  const bool is_staged = direction == Direction::write &&
                         all_are([](const OpenArray& file) { return file.is_staged(); });
  // The stager merges what ranks hand over, so they need not gather it.
  const bool is_merged =
      is_staged && all_are([](const OpenArray& file) { return file.encoded() == nullptr; });
  if (is_merged && !overrides.strategy) overrides.strategy = plan::Strategy::direct;
  if (is_staged || !settings.staging.stages()) overrides.stagers = settings.stagers;
  overrides.engines = settings.engine ? plan::Engines::only(*settings.engine) : settings.engines;
  if (settings.aggregators > 0) overrides.aggregators_per_node = settings.aggregators;
  overrides.buffer_bytes = settings.buffer_bytes;
  overrides.shorter_pieces = settings.shorter_pieces;
  overrides.placement = settings.placement;
  // Each chunk that stagers encode then has the same aggregator in all requests of a step.
  const bool keeps_stagers = direction == Direction::write && settings.staging.stages() &&
                             settings.stagers.count > 1 &&
                             std::ranges::any_of(parts, [](const RequestedPart& one) {
                               return one.file->is_staged() && one.file->encoded() != nullptr;
                             });
  if (keeps_stagers) {
    overrides.shorter_pieces = false;
    if (topology::depends_on_data(settings.placement)) {
      overrides.placement = topology::PlacementRule::spread;
    }
  }
  if (settings.alignment_bytes > 0) overrides.alignment = settings.alignment_bytes;
  overrides.targets = targets_of(parts, settings.targets);
  const std::int64_t alignment =
      overrides.alignment.value_or(plan::alignment_for(*overrides.targets));
  // Bases are multiples of a whole turn through the stripes, so that each aggregator keeps its
  // targets from step to step.
  const auto turn = checked_multiply(alignment, overrides.targets->count);
  const auto is_asked_for = [&](const plan::CachedRequest& request) {
    return is_for(request, parts, direction, settings.buffer_bytes);
  };
  if (auto known = planner.known(overrides, is_asked_for)) return known;
  const auto request =
      request_for(parts, direction, turn.value_or(alignment), settings.buffer_bytes);
  if (!request) return request.error();
  const bool encoded = std::any_of(parts.begin(), parts.end(), [](const RequestedPart& one) {
    return one.file->encoded() != nullptr;
  });
  if (!encoded || direction == Direction::read) {
    return planner.plan(request.value(), overrides);
  }
  return plan_encoded(planner, request.value(), overrides, parts);
}

}  // namespace

Result<std::shared_ptr<const plan::Planned>> plan_request(plan::Planner& planner,
                                                          const CollectiveSettings& settings,
                                                          std::vector<RequestedPart>& parts,
                                                          Direction direction) {
  auto planned = plan_in(planner, settings, parts, direction, false);
  if (planned || !settings.groups_are_suggested || planned.error().code != ErrorCode::unsupported) {
    return planned;
  }
  return plan_in(planner, settings, parts, direction, true);
}

}  // namespace weir::aggregation
