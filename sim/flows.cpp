#include "flows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <utility>

#include "plan/buffer_turns.hpp"
#include "plan/choice.hpp"
#include "plan/file_windows.hpp"
#include "plan/node_messages.hpp"
#include "plan/piece_extents.hpp"
#include "plan/plan.hpp"
#include "plan/rank_pieces.hpp"
#include "topology/network.hpp"

namespace weir::sim {
namespace {

// Extents are counted one by one.
constexpr std::int64_t most_extents = std::int64_t{1} << 28;

class Collector {
 public:
  Collector(const topology::Topology& topology, const FlowRules& rules, std::int64_t buffer_bytes)
      : topology_(topology), rules_(rules) {
    flows_.buffers = plan::usual_buffers(buffer_bytes, topology.nodes());
    if (rules.aggregators_on_first_nodes > 0) flows_.sources = Sources::io_groups;
  }

  // Adds the clients of one group's plan.
  Status add_plan(const std::shared_ptr<const plan::Plan>& plan);
  [[nodiscard]] Flows take() { return std::move(flows_); }

 private:
  Status add_ranks(const std::shared_ptr<const plan::Plan>& plan);
  Status add_aggregator(const std::shared_ptr<const plan::Plan>& plan, std::int64_t aggregator);
  Status add_operation(const plan::Plan& plan, const plan::Piece& piece,
                       const std::vector<plan::Contributor>& contributors, Client& client);
  Status add_copies(const std::vector<plan::Contributor>& contributors, Client& client,
                    Operation& operation);
  void add_messages(const plan::Plan& plan, const plan::Piece& piece,
                    const std::vector<plan::Contributor>& contributors, Client& client,
                    Operation& operation);
  [[nodiscard]] std::int64_t source_of(std::int64_t node) const;
  void merge_sources(Client& client) const;
  [[nodiscard]] std::int64_t node_of(const plan::Plan& plan, std::int64_t aggregator) const;
  Status keep(Client client);

  const topology::Topology& topology_;
  const FlowRules& rules_;
  Flows flows_;
  std::int64_t pieces_ = 0;
  std::int64_t messages_ = 0;
  std::int64_t copies_ = 0;
  std::int64_t extents_ = 0;
};

void append(const std::map<std::int64_t, std::int64_t>& bytes, std::vector<Share>& shares) {
  for (const auto& [place, count] : bytes) shares.push_back({place, count, 0});
}

void append(const std::map<std::int64_t, Share>& by_place, std::vector<Share>& shares) {
  for (const auto& [place, share] : by_place) shares.push_back(share);
}

void add(std::map<std::int64_t, Share>& by_place, const Share& share) {
  const auto [found, is_new] = by_place.try_emplace(share.place, share);
  if (!is_new) found->second.bytes += share.bytes;
}

Status Collector::add_plan(const std::shared_ptr<const plan::Plan>& plan) {
  if (plan->parameters().strategy == plan::Strategy::direct) return add_ranks(plan);
  flows_.slots = std::max(flows_.slots, plan::messages_at_once(*plan, flows_.buffers));
  for (std::int64_t aggregator = 0; aggregator < plan->aggregators(); ++aggregator) {
    if (Status added = add_aggregator(plan, aggregator); !added) return added;
  }
  return {};
}

Status Collector::add_ranks(const std::shared_ptr<const plan::Plan>& plan) {
  const std::int64_t ranks = std::min(plan->request().ranks(), topology_.ranks());
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    Client client;
    client.rank = rank;
    client.node = topology_.node_of(rank);
    plan::RankPieces pieces(plan, rank);
    for (plan::PieceId id; pieces.next(id);) {
      const plan::Piece piece = plan->piece(id);
      if (Status added = add_operation(*plan, piece, {{rank, 0}}, client); !added) return added;
    }
    if (Status kept = keep(std::move(client)); !kept) return kept;
  }
  return {};
}

std::int64_t Collector::node_of(const plan::Plan& plan, std::int64_t aggregator) const {
  if (rules_.aggregators_on_first_nodes == 0) return topology_.node_of(plan.rank_of(aggregator));
  const std::int64_t group = aggregator % topology_.io_groups();
  const std::int64_t place = aggregator / topology_.io_groups();
  return topology_.node_in_group(group, place % topology_.nodes_in_group(group));
}

Status Collector::add_aggregator(const std::shared_ptr<const plan::Plan>& plan,
                                 std::int64_t aggregator) {
  Client client;
  client.rank = plan->rank_of(aggregator);
  client.node = node_of(*plan, aggregator);
  plan::AggregatorPieces pieces(plan, aggregator);
  for (plan::Piece piece; pieces.next(piece);) {
    const auto contributors = plan->contributors(piece);
    if (contributors.empty()) continue;
    if (Status added = add_operation(*plan, piece, contributors, client); !added) return added;
  }
  return keep(std::move(client));
}

Status Collector::add_operation(const plan::Plan& plan, const plan::Piece& piece,
                                const std::vector<plan::Contributor>& contributors,
                                Client& client) {
  if (++pieces_ > rules_.most_operations) {
    return invalid_argument(
        fmt::format("the plan has more than {} operations: give a larger buffer, a smaller array "
                    "or fewer ranks",
                    rules_.most_operations));
  }
  Operation operation;
  operation.first_share = client.shares.size();
  const bool is_direct = plan.parameters().strategy == plan::Strategy::direct;
  if (!is_direct) {
    operation.turn = plan::BufferTurns(plan.most_parts(), flows_.buffers).turn_of(piece.id);
    add_messages(plan, piece, contributors, client, operation);
    if (Status added = add_copies(contributors, client, operation); !added) return added;
  }
  TargetBytes targets;
  // A whole array has no holes, except between rows that other groups read.
  const bool moves_holes = plan.request().direction == Direction::read && !is_direct;
  plan::FileWindows windows(
      plan::PieceExtents(plan, piece, contributors),
      moves_holes ? plan::widest_gap(plan, piece.id.array, rules_.rates) : -1);
  for (plan::FileWindow window; windows.next(window);) {
    extents_ += std::ssize(window.extents);
    if (extents_ > most_extents) {
      return invalid_argument(fmt::format(
          "the request has more than {} extents in the file: give a smaller array", most_extents));
    }
    ++operation.calls;
    operation.bytes += window.bytes();
    for (const plan::FileExtent& extent : window.extents) flows_.bytes += extent.bytes;
    add_to_targets(window.offset(), window.bytes(), rules_.targets, rules_.stripe_bytes, targets);
  }
  flows_.operations += is_direct ? operation.calls : 1;
  append(targets, client.shares);
  operation.targets = static_cast<std::uint32_t>(targets.size());
  client.operations.push_back(operation);
  return {};
}

// Each rank copies its share into a buffer of its node, or into a message, which the aggregator
// copies into its buffer; in a read the other way.
Status Collector::add_copies(const std::vector<plan::Contributor>& contributors, Client& client,
                             Operation& operation) {
  if (!rules_.with_copies) return {};
  operation.first_copy = client.copies.size();
  for (const plan::Contributor& one : contributors) {
    client.copies.push_back({one.rank, topology_.node_of(one.rank), one.bytes});
  }
  if (operation.message_bytes > 0) {
    client.copies.push_back({client.rank, client.node, operation.message_bytes});
  }
  operation.copies = static_cast<std::uint32_t>(client.copies.size() - operation.first_copy);
  copies_ += operation.copies;
  if (copies_ <= rules_.most_copies) return {};
  return invalid_argument(
      fmt::format("the ranks make more than {} copies: give fewer ranks, a larger buffer, or a "
                  "platform without copies in its simulation",
                  rules_.most_copies));
}

std::int64_t Collector::source_of(std::int64_t node) const {
  switch (flows_.sources) {
    case Sources::nodes:
      return node;
    case Sources::switches:
      return topology_.network()->switch_of(node);
    case Sources::io_groups:
      return topology_.io_group_of_node(node);
    case Sources::none:
      break;
  }
  return 0;
}

// Replaces the nodes that are the client's sources by what sources are from now on.
void Collector::merge_sources(Client& client) const {
  std::vector<Share> shares;
  for (Operation& one : client.operations) {
    std::map<std::int64_t, Share> sources;
    for (const Share& share : client.sources(one)) {
      if (flows_.sources == Sources::none) continue;
      add(sources, {source_of(share.place), share.bytes, share.rank});
    }
    const auto targets = client.targets(one);
    one.first_share = shares.size();
    one.sources = static_cast<std::uint32_t>(sources.size());
    append(sources, shares);
    shares.insert(shares.end(), targets.begin(), targets.end());
  }
  client.shares = std::move(shares);
}

void Collector::add_messages(const plan::Plan& plan, const plan::Piece& piece,
                             const std::vector<plan::Contributor>& contributors, Client& client,
                             Operation& operation) {
  std::map<std::int64_t, Share> sources;
  const auto add_message = [&](std::int64_t node, std::int64_t bytes, std::int64_t rank) {
    if (++messages_ > rules_.most_messages_by_node && flows_.sources == Sources::nodes) {
      flows_.sources = topology_.network() != nullptr ? Sources::switches : Sources::none;
      for (Client& one : flows_.clients) merge_sources(one);
      merge_sources(client);
      operation.first_share = client.shares.size();
      std::map<std::int64_t, Share> merged;
      for (const auto& [from, share] : sources) {
        add(merged, {source_of(from), share.bytes, share.rank});
      }
      sources = std::move(merged);
    }
    ++operation.messages;
    operation.message_bytes += bytes;
    add(sources, {source_of(node), bytes, rank});
  };
  if (rules_.aggregators_on_first_nodes > 0) {
    // The aggregator is not where the plan has it, and every rank sends a message of its own.
    for (const plan::Contributor& one : contributors) {
      const std::int64_t node = topology_.node_of(one.rank);
      if (node != client.node) add_message(node, one.bytes, one.rank);
    }
  } else {
    for (const plan::NodeMessage& one : plan::node_messages(plan, piece.id, contributors)) {
      add_message(one.node, one.bytes, one.shares.front().rank);
    }
  }
  if (flows_.sources == Sources::none) return;
  append(sources, client.shares);
  operation.sources = static_cast<std::uint32_t>(sources.size());
}

Status Collector::keep(Client client) {
  if (client.operations.empty()) return {};
  if (std::ssize(flows_.clients) >= rules_.most_clients) {
    return invalid_argument(fmt::format(
        "more than {} clients would move bytes: give a strategy with fewer aggregators, "
        "or fewer ranks",
        rules_.most_clients));
  }
  client.group = topology_.io_group_of_node(client.node);
  for (const Operation& one : client.operations) {
    flows_.calls += one.calls;
    flows_.messages += one.messages;
    flows_.message_bytes += one.message_bytes;
    flows_.bytes_moved += one.bytes;
  }
  flows_.clients.push_back(std::move(client));
  return {};
}

void take_turns(std::vector<Client>& clients) {
  std::map<std::int64_t, std::int64_t> seen;  // clients of each group
  std::vector<std::pair<std::int64_t, Client*>> order;
  order.reserve(clients.size());
  for (Client& client : clients) order.emplace_back(seen[client.group]++, &client);
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return std::pair(a.first, a.second->group) < std::pair(b.first, b.second->group);
  });
  std::int64_t turn = 0;
  for (const auto& [number, client] : order) client->turn = turn++;
}

}  // namespace

void add_to_targets(std::int64_t offset, std::int64_t bytes, std::int64_t targets,
                    std::int64_t stripe_bytes, TargetBytes& on_targets) {
  if (targets == 0) return;
  if (stripe_bytes == 0) {
    on_targets[0] += bytes;
    return;
  }
  // All targets have as many bytes of the whole turns.
  const std::int64_t turn = stripe_bytes * targets;
  const std::int64_t turns = bytes / turn;
  if (turns > 0) {
    for (std::int64_t target = 0; target < targets; ++target) {
      on_targets[target] += turns * stripe_bytes;
    }
  }
  const std::int64_t end = offset + bytes;
  for (std::int64_t at = offset + turns * turn; at < end;) {
    const std::int64_t next = std::min(end, (at / stripe_bytes + 1) * stripe_bytes);
    on_targets[at / stripe_bytes % targets] += next - at;
    at = next;
  }
}

Result<Flows> flows_of_plan(const plan::Request& request, const topology::Topology& topology,
                            plan::Parameters parameters, const FlowRules& rules) {
  Collector collector(topology, rules, parameters.buffer_bytes);
  const bool one_group = rules.aggregators_on_first_nodes > 0;
  auto planned = topology;
  if (one_group) {
    auto all = topology.with_io_groups(topology.nodes());
    if (!all) return all.error();
    planned = std::move(all).value();
    parameters.aggregators = rules.aggregators_on_first_nodes * topology.io_groups();
  }
  const std::int64_t groups = parameters.strategy == plan::Strategy::direct
                                  ? 1
                                  : plan::Plan::groups(planned, parameters.strategy);
  for (std::int64_t group = 0; group < groups; ++group) {
    const auto plan = plan::Plan::create(request, planned, parameters, group);
    if (!plan) return plan.error();
    if (Status added = collector.add_plan(plan.value()); !added) return added.error();
  }
  Flows flows = collector.take();
  take_turns(flows.clients);
  return flows;
}

}  // namespace weir::sim
