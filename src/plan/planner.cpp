#include "plan/planner.hpp"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "array/fingerprint.hpp"

namespace weir::plan {
namespace {

// The number of kinds of requests that a program typically makes in turn.
constexpr std::size_t latest = 4;
// Limit on the number of arrays in all cached plans, if there are several plans: each array takes a
// few kilobytes.
constexpr std::size_t most_arrays = 16 << 10;

void add(array::Fingerprint& fingerprint, const Image& image) {
  fingerprint.add(image.shape().extents());
  fingerprint.add(static_cast<std::int64_t>(image.order()));
  fingerprint.add(image.element_bytes());
  fingerprint.add(image.files());
  if (const FileImage* const dense = image.dense()) {
    fingerprint.add(dense->offset());
    return;
  }
  fingerprint.add(image.chunked()->grid().chunk_extents());
  const array::ChunkPlaces& places = image.chunked()->places();
  fingerprint.add(static_cast<std::int64_t>(places.index()));
  fingerprint.add(image.chunked()->chunk_bytes());
  if (const auto* slots = std::get_if<array::SlotsInTurn>(&places)) {
    fingerprint.add(slots->offset);
    fingerprint.add(slots->slot_bytes);
  } else if (const auto* table = std::get_if<array::ChunkTable>(&places)) {
    if (const auto first = table->first_run()) fingerprint.add(first->place.offset);
  }
}

template <typename Number>
void add(array::Fingerprint& fingerprint, const std::optional<Number>& number) {
  fingerprint.add(number ? static_cast<std::int64_t>(*number) : -1);
}

std::uint64_t fingerprint_of(const Request& request, const Overrides& overrides) {
  array::Fingerprint fingerprint;
  fingerprint.add(static_cast<std::int64_t>(request.direction));
  for (const ArrayRequest& one : request.arrays) {
    add(fingerprint, one.image);
    fingerprint.add(static_cast<std::int64_t>(one.memory.fingerprint()));
    fingerprint.add(one.section.start);
    fingerprint.add(one.section.count);
    fingerprint.add(one.section.stride);
    fingerprint.add(one.first_file);
  }
  add(fingerprint, overrides.strategy);
  fingerprint.add(std::int64_t{overrides.engines.bits()});
  add(fingerprint, overrides.aggregators_per_node);
  add(fingerprint, overrides.buffer_bytes);
  fingerprint.add(std::int64_t{overrides.shorter_pieces});
  add(fingerprint, overrides.alignment);
  add(fingerprint, overrides.assignment);
  fingerprint.add(static_cast<std::int64_t>(overrides.placement));
  add(fingerprint, overrides.aggregators_per_group);
  fingerprint.add(overrides.nodes_per_way_out);
  fingerprint.add(std::int64_t{overrides.in_one_group});
  if (overrides.stagers) {
    fingerprint.add(overrides.stagers->count);
    fingerprint.add(std::int64_t{overrides.stagers->on_other_nodes});
    fingerprint.add(std::int64_t{overrides.stagers->exist});
  }
  if (overrides.targets) {
    fingerprint.add(overrides.targets->count);
    fingerprint.add(overrides.targets->stripe_bytes);
    fingerprint.add(overrides.targets->lock_bytes);
    fingerprint.add(std::int64_t{overrides.targets->coherent_caches});
  }
  return fingerprint.value();
}

// Returns the bytes of the requested elements that a rank holds.
std::int64_t bytes_of(const Plan& plan, std::int64_t rank) {
  std::int64_t bytes = 0;
  for (int array = 0; array < static_cast<int>(plan.request().arrays.size()); ++array) {
    const ArrayRequest& one = plan.request().arrays[static_cast<std::size_t>(array)];
    const array::Region asked(one.section);
    for (std::int64_t number = 0; number < plan.parts(array, rank); ++number) {
      bytes +=
          array::common_elements(plan.part(array, rank, number), asked) * one.image.element_bytes();
    }
  }
  return bytes;
}

bool is_alike(const ArrayRequest& one, const ArrayRequest& other) {
  const FileImage* const image = one.image.dense();
  const FileImage* const others = other.image.dense();
  return image != nullptr && others != nullptr && image->shape() == others->shape() &&
         image->order() == others->order() && image->element_bytes() == others->element_bytes() &&
         one.section == other.section && one.first_file == other.first_file &&
         one.in_bundles == other.in_bundles && one.memory == other.memory;
}

}  // namespace

CachedRequest::CachedRequest(Request request) : request_(std::move(request)) {
  arrays_.reserve(request_.arrays.size());
  for (std::size_t i = 0; i < request_.arrays.size(); ++i) {
    const ArrayRequest& one = request_.arrays[i];
    const FileImage* const image = one.image.dense();
    arrays_.push_back(
        {image != nullptr ? image->offset() : -1, i > 0 && is_alike(one, request_.arrays[i - 1])});
  }
}

std::shared_ptr<const Planned> PlanCache::find(const Request& request, const Overrides& overrides) {
  const auto found = by_fingerprint_.find(fingerprint_of(request, overrides));
  if (found == by_fingerprint_.end() || found->second->overrides != overrides ||
      found->second->known.request() != request) {
    ++misses_;
    return nullptr;
  }
  ++hits_;
  entries_.splice(entries_.begin(), entries_, found->second);
  forget_older_pieces();
  return found->second->planned;
}

void PlanCache::forget_older_pieces() {
  if (entries_.size() > latest)
    std::next(entries_.begin(), latest)->planned->pieces->forget_pieces();
}

std::shared_ptr<const Planned> PlanCache::find_latest(
    const Overrides& overrides, const std::function<bool(const CachedRequest&)>& is_asked_for) {
  std::size_t looked_at = 0;
  for (auto entry = entries_.begin(); entry != entries_.end() && looked_at < latest;
       ++entry, ++looked_at) {
    if (entry->overrides != overrides || !is_asked_for(entry->known)) continue;
    ++hits_;
    entries_.splice(entries_.begin(), entries_, entry);
    return entries_.front().planned;
  }
  return nullptr;
}

void PlanCache::insert(const Request& request, const Overrides& overrides,
                       std::shared_ptr<const Planned> planned) {
  const std::uint64_t fingerprint = fingerprint_of(request, overrides);
  // If two requests have the same fingerprint, the newer one is kept.
  if (const auto same = by_fingerprint_.find(fingerprint); same != by_fingerprint_.end()) {
    arrays_ -= same->second->known.request().arrays.size();
    entries_.erase(same->second);
    by_fingerprint_.erase(same);
  }
  entries_.push_front({fingerprint, overrides, CachedRequest(request), std::move(planned)});
  by_fingerprint_[fingerprint] = entries_.begin();
  arrays_ += request.arrays.size();
  forget_older_pieces();
  while (entries_.size() > capacity_ || (entries_.size() > 1 && arrays_ > most_arrays)) {
    by_fingerprint_.erase(entries_.back().fingerprint);
    arrays_ -= entries_.back().known.request().arrays.size();
    entries_.pop_back();
  }
}

void PlanCache::forget(const SharedDistribution& memory) {
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    const std::vector<ArrayRequest>& arrays = entry->known.request().arrays;
    const bool is_by_it = std::any_of(arrays.begin(), arrays.end(), [&](const ArrayRequest& one) {
      return one.memory.fingerprint() == memory.fingerprint();
    });
    if (is_by_it) {
      arrays_ -= arrays.size();
      by_fingerprint_.erase(entry->fingerprint);
      entry = entries_.erase(entry);
    } else {
      ++entry;
    }
  }
}

Planner::Planner(topology::Topology topology, const topology::FileTargets& targets,
                 const PlatformRates& rates, std::int64_t rank, std::int64_t holders,
                 std::size_t cached_plans)
    : topology_(std::move(topology)),
      targets_(targets),
      rates_(rates),
      rank_(rank),
      holders_(holders),
      cache_(cached_plans) {}

Result<std::shared_ptr<const Planned>> Planner::plan(const Request& request,
                                                     const Overrides& overrides) {
  if (auto known = cache_.find(request, overrides)) return known;
  Overrides here = overrides;
  here.holders = holders_;
  auto topology = topology_;
  if (overrides.in_one_group) {
    auto one_group = topology.with_io_groups(topology.nodes());
    if (!one_group) return one_group.error();
    topology = std::move(one_group).value();
  }
  auto choice = choose_(request, topology, overrides.targets.value_or(targets_), rates_, here);
  if (!choice) return choice.error();
  std::string& io_groups = choice.value().io_groups;
  io_groups = io_groups.empty() ? one_io_group_ : io_groups + io_groups_origin_;
  const Parameters& parameters = choice.value().parameters();
  auto plan = Plan::create(request, topology, parameters,
                           Plan::group_of(topology, parameters.strategy, rank_));
  if (!plan) return plan.error();
  auto pieces = std::make_shared<CachedPieces>(plan.value(), rank_);
  const std::int64_t bytes = bytes_of(*plan.value(), rank_);
  const auto planned = std::make_shared<const Planned>(
      Planned{std::move(choice).value(), std::move(plan).value(), std::move(pieces), bytes});
  cache_.insert(request, overrides, planned);
  return planned;
}

}  // namespace weir::plan
