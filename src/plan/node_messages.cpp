#include "plan/node_messages.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace weir::plan {
namespace {

std::int64_t courier_of(const Plan& plan, const PieceId& id, const NodeMessage& message) {
  const std::size_t count = message.shares.size();
  const auto turn = static_cast<std::uint64_t>(id.step) + static_cast<std::uint64_t>(id.part) +
                    static_cast<std::uint64_t>(id.aggregator);
  const std::size_t first = turn % count;
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t rank = message.shares[(first + i) % count].rank;
    if (!plan.aggregator_at(rank)) return rank;
  }
  return message.shares[first].rank;
}

}  // namespace

const NodeShare* NodeMessage::share_of(std::int64_t rank) const {
  const auto found = std::lower_bound(
      shares.begin(), shares.end(), rank,
      [](const NodeShare& share, std::int64_t wanted) { return share.rank < wanted; });
  return found != shares.end() && found->rank == rank ? &*found : nullptr;
}

std::vector<NodeMessage> node_messages(const Plan& plan, const PieceId& id,
                                       std::span<const Contributor> contributors) {
  const topology::Topology& topology = plan.topology();
  const std::int64_t own_node = topology.node_of(plan.rank_of(id.aggregator));
  std::vector<std::pair<std::int64_t, Contributor>> by_node;
  by_node.reserve(contributors.size());
  bool sorted = true;
  for (const Contributor& one : contributors) {
    const std::int64_t node = topology.node_of(one.rank);
    if (node == own_node || one.bytes == 0) continue;
    sorted = sorted && (by_node.empty() || by_node.back().first <= node);
    by_node.emplace_back(node, one);
  }
  if (!sorted) {
    std::stable_sort(by_node.begin(), by_node.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
  }
  const std::int64_t most_bytes = plan.parameters().buffer_bytes;
  std::vector<NodeMessage> messages;
  for (const auto& [node, one] : by_node) {
    if (messages.empty() || messages.back().node != node ||
        messages.back().bytes > most_bytes - one.bytes) {
      messages.push_back({node, 0, 0, {}});
    }
    NodeMessage& message = messages.back();
    message.shares.push_back({one.rank, one.bytes, message.bytes});
    message.bytes += one.bytes;
  }
  for (NodeMessage& message : messages) message.courier = courier_of(plan, id, message);
  return messages;
}

}  // namespace weir::plan
