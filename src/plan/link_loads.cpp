#include "plan/link_loads.hpp"

#include <algorithm>

#include "plan/piece_sample.hpp"
#include "topology/network.hpp"

namespace weir::plan {
namespace {

// A part of the aggregators would not tell which link all of them share.
constexpr std::int64_t contributions_to_links = 1 << 15;
constexpr std::int64_t pieces_on_links = 16;

}  // namespace

void LinkLoads::find_way(std::int64_t from, std::int64_t to) {
  way_.clear();
  const topology::Network* const network = topology_->network();
  if (network == nullptr) return;
  network->route(from, to, way_);
  std::erase_if(way_, [network](std::int64_t link) { return network->is_node_link(link); });
}

void LinkLoads::add(std::int64_t from, std::int64_t to, double bytes) {
  find_way(from, to);
  for (const std::int64_t link : way_) {
    largest_ = std::max(largest_, bytes_of_link_[link] += bytes);
  }
}

double LinkLoads::largest_on(std::int64_t from, std::int64_t to) {
  find_way(from, to);
  double most = 0;
  for (const std::int64_t link : way_) {
    const auto found = bytes_of_link_.find(link);
    if (found != bytes_of_link_.end()) most = std::max(most, found->second);
  }
  return most;
}

double share_of_busiest_link(const Plan& plan) {
  const topology::Topology& topology = plan.topology();
  LinkLoads loads(topology);
  double gathered = 0;
  std::int64_t looked_at = 0;
  for (std::int64_t aggregator = 0; aggregator < plan.aggregators(); ++aggregator) {
    const std::int64_t to = topology.node_of(plan.rank_of(aggregator));
    for (const SampledPiece& one : piece_sample(plan, aggregator, pieces_on_links)) {
      for (const Contributor& from : plan.contributors(one.id)) {
        if (++looked_at > contributions_to_links) return 0;
        const std::int64_t node = topology.node_of(from.rank);
        if (node == to) continue;
        const double sent = static_cast<double>(from.bytes) * one.times;
        gathered += sent;
        loads.add(node, to, sent);
      }
    }
    if (aggregator + looked_at > contributions_to_links) return 0;
  }
  return gathered > 0 ? loads.largest() / gathered : 0;
}

}  // namespace weir::plan
