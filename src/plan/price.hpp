// Estimates the time, in seconds, of a way to carry out a request, from a platform's rates.
//
// A price is a sum of operations and bytes divided by rates. The numbers of operations and bytes
// come from the plan itself, by sampling a few of its pieces, and not from separate formulas.
// Prices tell which way is cheapest; the path model tells which rate a run should reach.
//
//     direct       calls and bytes of the rows, on as many nodes in parallel, and blocks that
//                  several nodes share
//     staged       what plan/staged_price.hpp says
//     aggregated   gathering (copies inside nodes; packing, link and unpacking between nodes) and
//                  writing of pieces; the longer of both hides a part of the shorter. Where the
//                  network and the rate of its links are known, bytes × hops on the way: so the
//                  placement of aggregators has a price
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "common/status.hpp"
#include "plan/engine.hpp"
#include "plan/parameters.hpp"
#include "plan/plan.hpp"
#include "plan/platform_rates.hpp"
#include "plan/request.hpp"
#include "plan/staged_price.hpp"
#include "topology/topology.hpp"

namespace weir::plan {

struct Price {
  Parameters parameters;
  Engine engine = Engine::posix;
  double seconds = 0;           // of the whole request
  double gather_seconds = 0;    // copies inside nodes
  double exchange_seconds = 0;  // messages between nodes
  double hop_seconds = 0;       // part of these: links before the last one
  double link_seconds = 0;      // the busiest link between switches; 0: unknown
  double call_seconds = 0;      // calls on files
  double file_seconds = 0;      // bytes of files
  double lock_seconds = 0;      // blocks that change between nodes
  // the following members are the basis of the times
  std::int64_t aggregators = 0;  // of all groups; with direct, the number of ranks
  std::int64_t calls = 0;        // number of calls on files, by all callers
  std::int64_t bytes_per_call = 0;
  double mean_hops = 0;            // links that a byte from another node passes; 0: unknown
  std::int64_t bytes_per_run = 0;  // contiguous in both a rank's part and the file: a row
  // Time of the whole request with each engine; negative: not estimated.
  std::array<double, engine_count> seconds_by_engine = {-1, -1, -1, -1, -1};
};

// Estimates prices of one request; data common to all prices are determined once. The arguments of
// create() must outlive the object.
class Pricing {
 public:
  // Fails if Plan::create does.
  static Result<Pricing> create(const Request& request, const topology::Topology& topology,
                                const topology::FileTargets& targets, const PlatformRates& rates);
  // Estimates the price with the cheapest of `engines`, which must not be empty. A later engine is
  // chosen over an earlier one only if it is clearly cheaper. Fails if Plan::create does for these
  // parameters.
  [[nodiscard]] Result<Price> price(const Parameters& parameters,
                                    Engines engines = Engines::only(Engine::posix)) const;
  // Estimates a write by stagers, whose calls on files have `bytes_per_call` as a mean.
  // StagedPrice::unstaged_seconds is left to the caller.
  [[nodiscard]] StagedPrice price_staged(const Stagers& stagers, std::int64_t bytes_per_call) const;

 private:
  Pricing(const Request& request, const topology::Topology& topology,
          const topology::FileTargets& targets, const PlatformRates& rates, double bytes_per_run)
      : request_(&request),
        topology_(&topology),
        targets_(&targets),
        rates_(&rates),
        bytes_per_run_(bytes_per_run) {}
  void price_direct(Engines engines, Price& price) const;
  Status price_aggregated(Engines engines, Price& price) const;
  void price_files(double nodes, double callers, Price& price) const;
  void price_ways_out(const FileRates& rates, double nodes, Price& price) const;
  template <typename PriceOne>
  void choose_engine(Engines engines, const PriceOne& price_one, Price& price) const;
  [[nodiscard]] bool is_priced(Engine engine, const Price& price) const;
  [[nodiscard]] bool writing() const { return request_->direction == Direction::write; }
  [[nodiscard]] double cores() const;
  // Returns the time in which so many ranks of a node copy `copied` bytes of its memory.
  [[nodiscard]] double copy_seconds(double copied, double ranks) const;
  [[nodiscard]] FileRates file_rates(Engine engine) const;
  [[nodiscard]] double storage_seconds(Engine engine) const;
  // Returns how long the callers of a simulated machine take for their operations; nothing if that
  // is not gone through (plan/operation_queues.hpp).
  [[nodiscard]] std::optional<double> seconds_at_targets(const Parameters& parameters) const;
  [[nodiscard]] double share_of_targets(const Parameters& parameters) const;

  const Request* request_;
  const topology::Topology* topology_;
  const topology::FileTargets* targets_;
  const PlatformRates* rates_;
  double bytes_per_run_;  // 0 if no sampled rank has anything to transfer
};

}  // namespace weir::plan
