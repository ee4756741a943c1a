// Planning for one rank of a job: chooses a strategy by price, creates the plan of the rank's
// group, and caches both, so that a repeated request needs no planning.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/status.hpp"
#include "plan/cached_pieces.hpp"
#include "plan/choice.hpp"
#include "plan/plan.hpp"
#include "plan/request.hpp"

namespace weir::plan {

struct Planned {
  Choice choice;
  std::shared_ptr<const Plan> plan;      // of the rank's group
  std::shared_ptr<CachedPieces> pieces;  // of the rank
  std::int64_t bytes = 0;                // requested bytes in the rank's memory
};

// A request that was planned, in a form in which it can be recognized quickly. Its arrays are large
// to compare, and thousands of them mostly resemble each other, so their differences are stored
// too.
class CachedRequest {
 public:
  explicit CachedRequest(Request request);

  [[nodiscard]] const Request& request() const { return request_; }
  // Returns the offset of the first byte of an array's image, or nothing if the image is not dense.
  [[nodiscard]] std::optional<std::int64_t> dense_offset(std::size_t array) const {
    const std::int64_t offset = arrays_[array].offset;
    return offset < 0 ? std::nullopt : std::optional(offset);
  }
  // Returns whether an array is dense and its request differs from that of the previous array only
  // by the offset.
  [[nodiscard]] bool is_like_before(std::size_t array) const { return arrays_[array].like_before; }

 private:
  struct Glance {
    std::int64_t offset = -1;
    bool like_before = false;
  };

  Request request_;
  std::vector<Glance> arrays_;
};

// A cache of plans by request and overrides: entries are looked up by fingerprint and compared in
// full. The cache keeps the at most `capacity` (at least 1) plans used last, or fewer if they are
// for thousands of arrays. Plans are small whatever the size of the arrays and the job, except for
// explicit boxes, which they share with the request. What a rank does with their pieces is kept for
// a few of these plans (CachedPieces).
class PlanCache {
 public:
  explicit PlanCache(std::size_t capacity) : capacity_(capacity > 0 ? capacity : 1) {}

  // Returns the cached plan of a request; null if there is none.
  [[nodiscard]] std::shared_ptr<const Planned> find(const Request& request,
                                                    const Overrides& overrides);
  // Returns one of the latest plans for which `is_asked_for` accepts the request; null if there is
  // none.
  [[nodiscard]] std::shared_ptr<const Planned> find_latest(
      const Overrides& overrides, const std::function<bool(const CachedRequest&)>& is_asked_for);
  void insert(const Request& request, const Overrides& overrides,
              std::shared_ptr<const Planned> planned);

  // Removes the plans of requests with this distribution, which will not be requested again.
  void forget(const SharedDistribution& memory);

  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  [[nodiscard]] std::int64_t hits() const { return hits_; }
  [[nodiscard]] std::int64_t misses() const { return misses_; }

 private:
  // Called after another plan has become the one used last.
  void forget_older_pieces();

  struct Entry {
    std::uint64_t fingerprint = 0;
    Overrides overrides;
    CachedRequest known;
    std::shared_ptr<const Planned> planned;
  };

  std::size_t capacity_;
  std::list<Entry> entries_;  // in order of use, the latest first
  std::unordered_map<std::uint64_t, std::list<Entry>::iterator> by_fingerprint_;
  std::size_t arrays_ = 0;  // sum over all entries
  std::int64_t hits_ = 0;
  std::int64_t misses_ = 0;
};

// The functions that can take the place of choose().
using Chooser = decltype(&choose);

class Planner {
 public:
  // The arguments stay the same for all requests of a job. `rank` is the rank whose plans are made.
  // Only `holders` ranks of each node can be aggregators, whatever the overrides of a request say;
  // 0: all.
  Planner(topology::Topology topology, const topology::FileTargets& targets,
          const PlatformRates& rates, std::int64_t rank, std::int64_t holders = 0,
          std::size_t cached_plans = 64);

  // Replaces choose() by a function that makes the same choices.
  void set_chooser(Chooser chooser) { choose_ = chooser; }
  // Returns what explain() says after the number of I/O groups.
  void set_io_groups_origin(std::string origin) { io_groups_origin_ = std::move(origin); }
  // Returns what explain() says of the I/O groups if there is one, although several were asked for.
  void explain_one_io_group(std::string reason) { one_io_group_ = std::move(reason); }

  // Returns the plan of the rank's group. All ranks that make the same request get the same choice.
  // Fails if choose() does.
  [[nodiscard]] Result<std::shared_ptr<const Planned>> plan(const Request& request,
                                                            const Overrides& overrides);
  // Returns a recent plan whose request is_asked_for() recognizes, so that the request need not be
  // built. Returns null if there is none.
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
  std::string io_groups_origin_;
  std::string one_io_group_;
  Chooser choose_ = &choose;
  PlanCache cache_;
};

}  // namespace weir::plan
