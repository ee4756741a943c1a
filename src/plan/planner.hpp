// Planning for one rank of a job: chooses by price, makes the plan of the rank's group, and keeps
// both, so that a request that is made again plans nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <unordered_map>

#include "common/status.hpp"
#include "plan/cached_bundles.hpp"
#include "plan/cached_request.hpp"
#include "plan/choice.hpp"
#include "plan/plan.hpp"

namespace weir::plan {

struct Planned {
  Choice choice;
  std::shared_ptr<const Plan> plan;        // of the rank's group
  std::shared_ptr<CachedBundles> bundles;  // the rank's
  std::int64_t bytes = 0;                  // of the rank's memory, that are asked for
};

// Plans by what they were made for: looked up by fingerprint, compared in full. Keeps at most
// `capacity` of them (at least 1), those used last; fewer when they are of thousands of arrays.
// Plans are small whatever the size of arrays and job, but for explicit boxes, which they share
// with the request.
class PlanCache {
 public:
  explicit PlanCache(std::size_t capacity) : capacity_(capacity > 0 ? capacity : 1) {}

  // Null when it is not there.
  [[nodiscard]] std::shared_ptr<const Planned> find(const Request& request,
                                                    const Overrides& overrides);
  // Finds one of the latest plans by a question to their requests; null when there is none.
  [[nodiscard]] std::shared_ptr<const Planned> find_latest(
      const Overrides& overrides, const std::function<bool(const CachedRequest&)>& is_asked_for);
  void insert(const Request& request, const Overrides& overrides,
              std::shared_ptr<const Planned> planned);

  // Plans of requests by this distribution, which is asked for no more.
  void forget(const SharedDistribution& memory);

  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  [[nodiscard]] std::int64_t hits() const { return hits_; }
  [[nodiscard]] std::int64_t misses() const { return misses_; }

 private:
  struct Entry {
    std::uint64_t fingerprint = 0;
    Overrides overrides;
    CachedRequest known;
    std::shared_ptr<const Planned> planned;
  };

  std::size_t capacity_;
  std::list<Entry> entries_;  // the one used last comes first
  std::unordered_map<std::uint64_t, std::list<Entry>::iterator> by_fingerprint_;
  std::size_t arrays_ = 0;  // of all entries
  std::int64_t hits_ = 0;
  std::int64_t misses_ = 0;
};

class Planner {
 public:
  // What stays the same over a job's requests. `rank` is whose plans these are; of each node only
  // `holders` ranks can be aggregators, whatever the overrides of a request say; 0: all.
  Planner(topology::Topology topology, const topology::FileTargets& targets,
          const PlatformRates& rates, std::int64_t rank, std::int64_t holders = 0,
          std::size_t cached_plans = 64);

  // Every rank that asks for the same gets the plan of its group and the same choice. Fails as
  // choose() does.
  [[nodiscard]] Result<std::shared_ptr<const Planned>> plan(const Request& request,
                                                            const Overrides& overrides);
  // A plan that was made lately for a request that is_asked_for() knows again, without that it has
  // to be put together. Null when there is none.
  [[nodiscard]] std::shared_ptr<const Planned> known(
      const Overrides& overrides, const std::function<bool(const CachedRequest&)>& is_asked_for) {
    return cache_.find_latest(overrides, is_asked_for);
  }
  void forget(const SharedDistribution& memory) { cache_.forget(memory); }
  [[nodiscard]] const PlanCache& cache() const { return cache_; }
  [[nodiscard]] std::int64_t most_aggregators_per_node() const {
    return holders_ > 0 ? holders_ : topology_.ranks();
  }

 private:
  topology::Topology topology_;
  topology::FileTargets targets_;
  PlatformRates rates_;
  std::int64_t rank_;
  std::int64_t holders_;
  PlanCache cache_;
};

}  // namespace weir::plan
