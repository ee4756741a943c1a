#include "plan/placing.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "array/number_theory.hpp"
#include "plan/link_loads.hpp"
#include "plan/piece_sample.hpp"
#include "topology/network.hpp"

namespace weir::plan {
namespace {

using topology::PlacementRule;

// Bounds of the work for one plan: contributions and nodes looked at for all samples together, and
// pieces for each. Prices need about fifty plans for a request.
constexpr std::int64_t looked_at_in_all = 1 << 19;
constexpr std::int64_t pieces_looked_at = 16;
// Number of nodes that are considered for one aggregator with `priced`, unless there are few
// aggregators.
constexpr std::int64_t least_considered = 64;
// Bounds of the work for the load of links: nodes whose links are looked at, for all aggregators
// and for one, and nodes that send to it.
constexpr std::int64_t ways_in_all = 1 << 14;
constexpr std::int64_t weighed_for_one = 16;
constexpr std::int64_t senders_looked_at = 32;

class Placing {
 public:
  Placing(const Plan& plan, const topology::AggregatorPlacement& placement)
      : plan_(plan),
        placement_(placement),
        nodes_(placement.nodes_of(plan.group())),
        aggregators_(plan.aggregators()),
        taken_(static_cast<std::size_t>(nodes_)),
        order_(static_cast<std::size_t>(nodes_)),
        hop_bytes_(static_cast<std::size_t>(nodes_)),
        loads_(plan.topology()) {
    const std::int64_t each = placement.limits().nodes_per_way_out;
    nodes_per_way_ = each > 0 ? std::min(each, nodes_) : nodes_;
    taken_of_way_.resize(static_cast<std::size_t>(array::divide_up(nodes_, nodes_per_way_)));
  }

  std::vector<std::int32_t> run();

 private:
  void look_at(std::int64_t aggregator);
  void look_at_senders(const std::map<std::int64_t, double>& bytes_of_node);
  [[nodiscard]] bool has_room(std::int32_t position, std::int64_t most) const;
  std::int32_t take_nearest();
  std::int32_t take_cheapest();
  // Returns what the bytes of others cost on the busiest link of the ways to this position.
  [[nodiscard]] double link_cost(std::int32_t position);
  std::int32_t take(std::int32_t position);

  const Plan& plan_;
  const topology::AggregatorPlacement& placement_;
  std::int64_t nodes_;
  std::int64_t aggregators_;
  std::int64_t nodes_per_way_ = 1;
  // Aggregators placed so far, by position and by way out.
  std::vector<std::int64_t> taken_;
  std::vector<std::int64_t> taken_of_way_;
  // These describe the aggregator that was looked at last: its contributions and bytes, the
  // positions from the fewest hops to the most, and what bytes × hops cost if it were at each
  // position.
  std::int64_t contributions_ = 0;
  double bytes_ = 0;
  std::vector<std::int32_t> order_;
  std::vector<double> hop_bytes_;
  std::vector<std::pair<std::int64_t, double>> senders_;  // some nodes, with all bytes among them
  LinkLoads loads_;                  // of the aggregators that are placed, with `priced`
  std::size_t first_with_room_ = 0;  // index into order_; nodes before it are full
};

std::vector<std::int32_t> Placing::run() {
  std::vector<std::int32_t> positions;
  positions.reserve(static_cast<std::size_t>(aggregators_));
  look_at(0);
  const std::int64_t each = nodes_ + contributions_;
  const std::int64_t samples = std::clamp<std::int64_t>(looked_at_in_all / each, 1, aggregators_);
  for (std::int64_t sample = 0; sample < samples; ++sample) {
    const std::int64_t end = (sample + 1) * aggregators_ / samples;
    if (sample > 0) look_at(sample * aggregators_ / samples);
    for (auto next = static_cast<std::int64_t>(positions.size()); next < end; ++next) {
      positions.push_back(placement_.limits().rule == PlacementRule::nearest ? take_nearest()
                                                                             : take_cheapest());
    }
  }
  return positions;
}

void Placing::look_at(std::int64_t aggregator) {
  const topology::Topology& topology = plan_.topology();
  topology::WeightedHops hops(topology);
  contributions_ = 0;
  std::map<std::int64_t, double> bytes_of_node;
  for (const SampledPiece& one : piece_sample(plan_, aggregator, pieces_looked_at)) {
    for (const Contributor& from : plan_.contributors(one.id)) {
      ++contributions_;
      const double sent = static_cast<double>(from.bytes) * one.times;
      hops.add(topology.node_of(from.rank), sent);
      bytes_of_node[topology.node_of(from.rank)] += sent;
    }
  }
  // An aggregator of nothing stays near the place that it would have without data.
  if (hops.weight() == 0) {
    hops.add(topology.node_of(placement_.rank_of(plan_.group(), aggregator)), 1);
  }
  hops.finish();
  bytes_ = hops.weight();
  look_at_senders(bytes_of_node);
  for (std::int64_t position = 0; position < nodes_; ++position) {
    hop_bytes_[static_cast<std::size_t>(position)] =
        hops.to(placement_.node_at(plan_.group(), position)) * plan_.parameters().hop_cost;
  }
  std::iota(order_.begin(), order_.end(), 0);
  std::stable_sort(order_.begin(), order_.end(), [this](std::int32_t a, std::int32_t b) {
    return hop_bytes_[static_cast<std::size_t>(a)] < hop_bytes_[static_cast<std::size_t>(b)];
  });
  first_with_room_ = 0;
}

void Placing::look_at_senders(const std::map<std::int64_t, double>& bytes_of_node) {
  senders_.clear();
  if (placement_.limits().rule != PlacementRule::priced) return;
  const std::int64_t all = std::ssize(bytes_of_node);
  const std::int64_t step = array::divide_up(std::max<std::int64_t>(1, all), senders_looked_at);
  std::int64_t number = 0;
  double taken = 0;
  for (const auto& [node, bytes] : bytes_of_node) {
    if (number++ % step != 0) continue;
    senders_.emplace_back(node, bytes);
    taken += bytes;
  }
  for (auto& [node, bytes] : senders_) bytes *= taken > 0 ? bytes_ / taken : 0;
}

bool Placing::has_room(std::int32_t position, std::int64_t most) const {
  return taken_[static_cast<std::size_t>(position)] <
         std::min(most, placement_.holders_at(plan_.group(), position));
}

std::int32_t Placing::take(std::int32_t position) {
  ++taken_[static_cast<std::size_t>(position)];
  ++taken_of_way_[static_cast<std::size_t>(position / nodes_per_way_)];
  return position;
}

// Every node gets its even share of the aggregators, and more only if other nodes have no rank
// left for theirs.
std::int32_t Placing::take_nearest() {
  for (const std::int64_t most :
       {array::divide_up(aggregators_, nodes_), std::numeric_limits<std::int64_t>::max()}) {
    for (std::size_t at = first_with_room_; at < order_.size(); ++at) {
      if (!has_room(order_[at], most)) continue;
      first_with_room_ = at;
      return take(order_[at]);
    }
    first_with_room_ = 0;
  }
  return 0;  // not reached: there are no more aggregators than holders
}

double Placing::link_cost(std::int32_t position) {
  const std::int64_t node = placement_.node_at(plan_.group(), position);
  double most = 0;
  for (const auto& [from, bytes] : senders_) most = std::max(most, loads_.largest_on(from, node));
  return most * plan_.parameters().hop_cost;
}

// A node's link is shared by its aggregators, and a way out by those of its nodes. A share is
// priced like one pass of the bytes over a node's link, for each other aggregator of the node and
// for each even share of the aggregators that the way out has already. On links between switches
// the bytes wait for those that others have put on the busiest one. That is found out for the nodes
// that cost least otherwise.
std::int32_t Placing::take_cheapest() {
  struct Candidate {
    std::int32_t position = 0;
    double cost = 0;
  };
  const std::int64_t considered = std::max(least_considered, looked_at_in_all / aggregators_);
  const auto weighed = static_cast<std::size_t>(
      std::clamp<std::int64_t>(ways_in_all / aggregators_, 1, weighed_for_one));
  const auto ways = static_cast<std::int64_t>(taken_of_way_.size());
  const double even = static_cast<double>(array::divide_up(aggregators_, ways));
  std::vector<Candidate> cheapest;  // in ascending order, those at the front of order_ first
  std::int64_t looked_at = 0;
  constexpr std::int64_t no_limit = std::numeric_limits<std::int64_t>::max();
  while (!has_room(order_[first_with_room_], no_limit)) ++first_with_room_;
  for (std::size_t next = first_with_room_; next < order_.size(); ++next) {
    const std::int32_t position = order_[next];
    const auto at = static_cast<std::size_t>(position);
    const bool is_full = cheapest.size() == weighed;
    if (is_full && (hop_bytes_[at] >= cheapest.back().cost || looked_at >= considered)) break;
    if (!has_room(position, no_limit)) continue;
    ++looked_at;
    double shares = static_cast<double>(taken_[at]);
    if (ways > 1) {
      const auto way = static_cast<std::size_t>(position / nodes_per_way_);
      shares += static_cast<double>(taken_of_way_[way]) / even;
    }
    const double cost = hop_bytes_[at] + bytes_ * shares;
    if (is_full && cost >= cheapest.back().cost) continue;
    if (is_full) cheapest.pop_back();
    const auto behind =
        std::upper_bound(cheapest.begin(), cheapest.end(), cost,
                         [](double one, const Candidate& other) { return one < other.cost; });
    cheapest.insert(behind, {position, cost});
  }
  Candidate best = cheapest.front();
  double least = best.cost + link_cost(best.position);
  for (const Candidate& one : cheapest) {
    if (one.cost >= least) break;
    const double cost = one.cost + link_cost(one.position);
    if (cost >= least) continue;
    best = one;
    least = cost;
  }
  const std::int64_t node = placement_.node_at(plan_.group(), best.position);
  for (const auto& [from, bytes] : senders_) loads_.add(from, node, bytes);
  return take(best.position);
}

}  // namespace

std::vector<std::int32_t> positions_by_data(const Plan& plan,
                                            const topology::AggregatorPlacement& placement) {
  return Placing(plan, placement).run();
}

}  // namespace weir::plan
