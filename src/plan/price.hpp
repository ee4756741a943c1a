// What a way of carrying out a request costs, in seconds, from a platform's rates.
//
// A price is a sum of operations and bytes over rates; the numbers of both come from the plan
// itself, by looking at a few of its pieces, not from formulas of their own. It says which way is
// cheapest; what a run should reach is the path model's business.
//
//     direct       calls and bytes of the rows, as many nodes side by side, blocks that nodes share
//     aggregated   gathering (copies in the node; packing, link, unpacking between nodes), and
//                  writing pieces; the longer of both hides a part of the shorter
#pragma once

#include <array>
#include <cstdint>

#include "common/status.hpp"
#include "plan/engine.hpp"
#include "plan/parameters.hpp"
#include "plan/plan.hpp"
#include "plan/platform_rates.hpp"
#include "plan/request.hpp"
#include "topology/topology.hpp"

namespace weir::plan {

struct Price {
  Parameters parameters;
  Engine engine = Engine::posix;
  double seconds = 0;           // of the whole request
  double gather_seconds = 0;    // copies inside nodes
  double exchange_seconds = 0;  // messages between nodes
  double call_seconds = 0;      // calls on files
  double file_seconds = 0;      // bytes of files
  double lock_seconds = 0;      // blocks that change between nodes
  // What they rest on.
  std::int64_t aggregators = 0;  // of all groups; ranks under direct
  std::int64_t calls = 0;        // on files, of all who call
  std::int64_t bytes_per_call = 0;
  std::int64_t bytes_per_run = 0;  // contiguous in a rank's part and in the file: a row
  // The whole request by each engine; below 0: not priced.
  std::array<double, engine_count> seconds_by_engine = {-1, -1, -1, -1};
};

// Prices of one request; what they have in common is looked at once. The arguments of create()
// outlive this.
class Pricing {
 public:
  // Fails where Plan::create does.
  static Result<Pricing> create(const Request& request, const topology::Topology& topology,
                                const topology::FileTargets& targets, const PlatformRates& rates);
  // By the cheapest of `engines`, of which there is at least one; one that costs hardly less than
  // another before it is not taken. Fails where Plan::create does for these parameters.
  [[nodiscard]] Result<Price> price(const Parameters& parameters,
                                    Engines engines = Engines::only(Engine::posix)) const;

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
  template <typename PriceOne>
  void choose_engine(Engines engines, const PriceOne& price_one, Price& price) const;
  [[nodiscard]] bool is_priced(Engine engine, const Price& price) const;
  [[nodiscard]] bool writing() const { return request_->direction == Direction::write; }
  [[nodiscard]] double cores() const;
  [[nodiscard]] FileRates file_rates(Engine engine) const;
  [[nodiscard]] double storage_seconds(Engine engine) const;

  const Request* request_;
  const topology::Topology* topology_;
  const topology::FileTargets* targets_;
  const PlatformRates* rates_;
  double bytes_per_run_;  // 0 when nobody has anything to transfer, as far as seen
};

}  // namespace weir::plan
