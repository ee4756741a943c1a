#include "workloads/plan/audit.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "array/number_theory.hpp"
#include "plan/node_messages.hpp"
#include "plan/piece_extents.hpp"
#include "plan/piece_sample.hpp"
#include "plan/rank_pieces.hpp"
#include "topology/network.hpp"

namespace weir::bench::plan_audit {
namespace {

using namespace plan;

// Number of extents of one piece that are examined: enough to meet every target of a file.
constexpr std::int64_t most_extents = 4096;
// Number of pieces that are examined, over all aggregators, and of those whose contributors have to
// be determined.
constexpr std::int64_t most_pieces = 1 << 20;
constexpr std::int64_t most_with_holes = 1 << 15;
// Number of contributors that are determined for those pieces, if each rank of a group is one: all
// of the pieces above in groups of 128 ranks, and fewer in larger groups.
constexpr std::int64_t contributors_examined = most_with_holes * 128;

class Auditor {
 public:
  Auditor(const Request& request, const topology::Topology& topology,
          const topology::FileTargets& targets, const Parameters& parameters,
          const AuditLimits& limits, const topology::Topology& grouped)
      : request_(request),
        topology_(topology),
        grouped_(grouped),
        targets_(targets),
        limits_(limits) {
    found_.parameters = parameters;
    found_.nodes = topology.nodes();
    found_.targets = targets.stripe_bytes > 0 ? std::max<std::int64_t>(1, targets.count) : 1;
    clients_.resize(static_cast<std::size_t>(found_.targets));
    bytes_of_target_.resize(static_cast<std::size_t>(found_.targets));
  }

  Result<PlanAudit> run();

 private:
  [[nodiscard]] bool direct() const { return found_.parameters.strategy == Strategy::direct; }
  [[nodiscard]] bool sends() const {
    return !direct() && found_.parameters.strategy != Strategy::node_aggregation;
  }
  void look_at_ranks(const std::shared_ptr<const Plan>& plan);
  void look_at_aggregator(const Plan& plan, std::int64_t aggregator);
  // Returns the bytes of a piece that the group holds, and adds them to the targets that `node`
  // uses for the piece.
  double meet_targets(const Plan& plan, const Piece& piece, std::int64_t node,
                      const std::vector<Contributor>* contributors);
  void count_messages(const Plan& plan, std::int64_t group_pieces);
  void follow_messages(const std::shared_ptr<const Plan>& plan);
  // Adds the bytes that the aggregators of a group gather to the links that they pass.
  void follow_routes(const Plan& plan);
  void finish();

  const Request& request_;
  const topology::Topology& topology_;
  const topology::Topology& grouped_;
  const topology::FileTargets& targets_;
  AuditLimits limits_;
  PlanAudit found_;
  std::int64_t groups_ = 1;
  std::vector<std::set<std::int64_t>> clients_;  // nodes that use each target
  std::vector<double> bytes_of_target_;
  std::map<std::int64_t, double> bytes_of_node_;
  // These are sums over the pieces whose messages were counted.
  double off_node_bytes_ = 0;
  std::int64_t counted_pieces_ = 0;
  double counted_messages_ = 0;
  // These are sums over the pieces whose routes were followed, each for all that it stands for.
  double routed_bytes_ = 0;
  std::unordered_map<std::int64_t, double> bytes_of_link_;
};

Result<PlanAudit> Auditor::run() {
  groups_ = direct() ? 1 : Plan::groups(topology_, found_.parameters.strategy);
  // Messages are simulated for one group, in the middle; all groups are alike.
  const std::int64_t followed = groups_ / 2;
  for (std::int64_t group = 0; group < groups_; ++group) {
    const auto plan = Plan::create(request_, topology_, found_.parameters, group);
    if (!plan) return plan.error();
    if (direct()) {
      look_at_ranks(plan.value());
      continue;
    }
    const std::int64_t before = found_.pieces;
    for (std::int64_t aggregator = 0; aggregator < plan.value()->aggregators(); ++aggregator) {
      look_at_aggregator(*plan.value(), aggregator);
    }
    if (!sends()) continue;
    follow_routes(*plan.value());
    if (group != followed) continue;
    count_messages(*plan.value(), found_.pieces - before);
    follow_messages(plan.value());
  }
  finish();
  return found_;
}

void Auditor::look_at_ranks(const std::shared_ptr<const Plan>& plan) {
  found_.aggregators = std::min(request_.ranks(), topology_.ranks());
  for (std::int64_t rank = 0; rank < found_.aggregators; ++rank) {
    const std::int64_t node = topology_.node_of(rank);
    // One rank of each node shows which targets the node uses.
    if (topology_.position_on_node(rank) != 0) continue;
    RankPieces pieces(plan, rank);
    PieceId id;
    double bytes = 0;
    for (std::int64_t looked = 0; looked < limits_.pieces && pieces.next(id); ++looked) {
      const std::vector<Contributor> alone = {{rank, 0}};
      bytes += meet_targets(*plan, plan->piece(id), node, &alone);
    }
    bytes_of_node_[node] += bytes;
  }
}

void Auditor::look_at_aggregator(const Plan& plan, std::int64_t aggregator) {
  const std::int64_t node = topology_.node_of(plan.rank_of(aggregator));
  double bytes = 0;
  std::int64_t pieces = 0;
  const auto held_bytes = [&](const Piece& piece) {
    if (plan.holds_everything(piece.id)) return meet_targets(plan, piece, node, nullptr);
    const auto contributors = plan.contributors(piece);
    return meet_targets(plan, piece, node, &contributors);
  };
  for (const int array : plan.scheduled()) {
    if (plan.bundle(array) != nullptr) {
      const Piece piece = plan.piece({0, 0, array, 0, 0});
      if (piece.id.aggregator != aggregator) continue;
      bytes += held_bytes(piece);
      ++pieces;
    }
    const std::int64_t units = units_of(plan, aggregator, array);
    if (units == 0) continue;
    pieces += units * plan.units(array).most_parts();
    // The first steps, which use neighbouring stripes, and some of the others are examined.
    std::set<std::int64_t> steps;
    const bool whole = plan.holds_everything(plan.id_of(array, 0));
    const std::int64_t ranks = topology_.ranks() / groups_;
    const std::int64_t with_holes =
        std::min(most_with_holes, contributors_examined / std::max<std::int64_t>(1, ranks));
    const std::int64_t share = (whole ? most_pieces : with_holes) / (plan.aggregators() * groups_);
    const std::int64_t few =
        std::max<std::int64_t>(2, std::min(limits_.pieces, share) / plan.units(array).most_parts());
    for (std::int64_t step = 0; step < std::min(units, few / 2); ++step) steps.insert(step);
    for (std::int64_t i = 0; i < few / 2; ++i) steps.insert(scattered(i + 1, units));
    double looked_at = 0;
    for (const std::int64_t step : steps) {
      PieceId id = plan.id_of(array, *plan.unit_at(aggregator, array, step));
      for (id.part = 0; id.part < plan.units(array).most_parts(); ++id.part) {
        looked_at += held_bytes(plan.piece(id));
      }
    }
    bytes += looked_at / static_cast<double>(steps.size()) * static_cast<double>(units);
  }
  ++found_.aggregators;
  found_.pieces += pieces;
  found_.pieces_per_aggregator.add(static_cast<double>(pieces));
  found_.bytes_per_aggregator.add(bytes);
  bytes_of_node_[node] += bytes;
}

double Auditor::meet_targets(const Plan& plan, const Piece& piece, std::int64_t node,
                             const std::vector<Contributor>* contributors) {
  PieceExtents extents =
      contributors == nullptr ? PieceExtents(piece) : PieceExtents(plan, piece, *contributors);
  double bytes = 0;
  FileExtent extent;
  for (std::int64_t looked = 0; looked < most_extents && extents.next(extent); ++looked) {
    bytes += static_cast<double>(extent.bytes);
    if (extent.file == no_file) continue;
    std::int64_t at = extent.offset;
    const std::int64_t end = extent.offset + extent.bytes;
    // After one turn through the targets, all have been met.
    for (std::int64_t met = 0; at < end && met < found_.targets; ++met) {
      const std::int64_t stripe = targets_.stripe_bytes > 0 ? at / targets_.stripe_bytes : 0;
      // A file may begin on any target; here successive files begin on successive targets.
      const auto target = static_cast<std::size_t>((stripe + extent.file) % found_.targets);
      const std::int64_t next =
          targets_.stripe_bytes > 0 ? std::min(end, (stripe + 1) * targets_.stripe_bytes) : end;
      clients_[target].insert(node);
      bytes_of_target_[target] += static_cast<double>(next - at);
      at = next;
    }
  }
  return bytes;
}

void Auditor::count_messages(const Plan& plan, std::int64_t group_pieces) {
  const std::int64_t aggregators = plan.aggregators();
  const std::int64_t looked_at = std::min(limits_.shared_pieces, group_pieces);
  for (std::int64_t i = 0; i < looked_at; ++i) {
    const std::int64_t aggregator = aggregators * i / looked_at;
    const int array = plan.scheduled()[static_cast<std::size_t>(
        i % static_cast<std::int64_t>(plan.scheduled().size()))];
    const std::int64_t units = units_of(plan, aggregator, array);
    if (units == 0) continue;
    const std::int64_t step = i % 2 == 0 ? 0 : scattered(i, units);
    const Piece piece = plan.piece(plan.id_of(array, *plan.unit_at(aggregator, array, step)));
    const std::vector<NodeMessage> messages =
        node_messages(plan, piece.id, plan.contributors(piece));
    std::set<std::int64_t> nodes;
    double bytes = 0;
    for (const NodeMessage& one : messages) {
      nodes.insert(one.node);
      bytes += static_cast<double>(one.bytes);
    }
    const auto count = static_cast<double>(messages.size());
    found_.messages_per_piece.add(count);
    found_.nodes_per_piece.add(static_cast<double>(nodes.size()));
    if (count > 0) found_.bytes_per_message.add(bytes / count);
    off_node_bytes_ += bytes;
    counted_messages_ += count;
    ++counted_pieces_;
  }
}

void Auditor::follow_routes(const Plan& plan) {
  // Each group has its share of the work; of many aggregators in a group, some are examined.
  const std::int64_t pieces =
      std::max<std::int64_t>(1, limits_.contributions / (topology_.ranks() + groups_));
  const std::int64_t aggregators = plan.aggregators();
  const std::int64_t looked_at = std::min(aggregators, pieces);
  const double times = static_cast<double>(aggregators) / static_cast<double>(looked_at);
  std::vector<std::int64_t> links;
  for (std::int64_t i = 0; i < looked_at; ++i) {
    const std::int64_t aggregator = aggregators * i / looked_at;
    const std::int64_t to = topology_.node_of(plan.rank_of(aggregator));
    for (const SampledPiece& one : piece_sample(plan, aggregator, pieces / looked_at)) {
      const std::vector<Contributor> contributors = plan.contributors(one.id);
      for (const Contributor& from : contributors) {
        routed_bytes_ += static_cast<double>(from.bytes) * one.times * times;
      }
      for (const NodeMessage& message : node_messages(plan, one.id, contributors)) {
        const double bytes = static_cast<double>(message.bytes) * one.times * times;
        if (grouped_.io_group_of_node(message.node) != grouped_.io_group_of_node(to)) {
          found_.bytes_across_groups += bytes;
        }
        links.clear();
        const bool writes = request_.direction == Direction::write;
        topology::add_route(topology_, writes ? message.node : to, writes ? to : message.node,
                            links);
        found_.hop_bytes += bytes * static_cast<double>(links.size());
        for (const std::int64_t link : links) bytes_of_link_[link] += bytes;
      }
    }
  }
}

void Auditor::follow_messages(const std::shared_ptr<const Plan>& plan) {
  struct Message {
    std::int64_t node = 0;  // node of the aggregator
    bool arrived = false;
  };
  struct Sender {
    std::vector<Message> messages;
    std::size_t first = 0;  // first message that has not arrived
  };
  // The messages of some ranks of every node are simulated, as many as the limit allows.
  const std::int64_t group_nodes =
      groups_ == 1 ? topology_.nodes() : topology_.nodes_in_group(plan->group());
  const std::int64_t of_one = std::max<std::int64_t>(1, plan->aggregators() * limits_.steps);
  const std::int64_t each =
      std::clamp<std::int64_t>(limits_.messages / (group_nodes * of_one), 1, 8);
  std::vector<Sender> senders;
  std::set<std::int64_t> receivers;
  std::int64_t messages = 0;
  for (std::int64_t position = 0; position < group_nodes; ++position) {
    const std::int64_t node =
        groups_ == 1 ? position : topology_.node_in_group(plan->group(), position);
    const std::int64_t on_node = topology_.ranks_on(node);
    // Messages in the order in which all ranks of the node visit their aggregators.
    std::map<std::array<std::int64_t, 3>, std::int64_t> ordered;
    for (std::int64_t i = 0; i < std::min(each, on_node); ++i) {
      const std::int64_t rank = topology_.rank_on(node, on_node * i / std::min(each, on_node));
      RankPieces pieces(plan, rank);
      std::int64_t steps = 0;
      std::int64_t last = -1;
      for (PieceId id; pieces.next(id);) {
        if (id.step != last && ++steps > limits_.steps) break;
        last = id.step;
        const std::int64_t to = topology_.node_of(plan->rank_of(id.aggregator));
        if (to != node) ordered[{id.step, id.part, plan->turn_for(rank, id.aggregator)}] = to;
      }
    }
    Sender sender;
    for (const auto& [turn, to] : ordered) {
      sender.messages.push_back({to, false});
      receivers.insert(to);
      ++messages;
    }
    senders.push_back(std::move(sender));
  }
  found_.receiving_nodes = static_cast<std::int64_t>(receivers.size());
  if (messages == 0) return;
  const std::int64_t capacity =
      array::divide_up(static_cast<std::int64_t>(senders.size()), found_.receiving_nodes);
  const std::int64_t enough = messages - messages / 10;
  std::int64_t arrived = 0;
  std::size_t begin = 0;  // the sender that is served first in this round
  while (arrived < enough) {
    std::map<std::int64_t, std::int64_t> taken;  // messages received by each node's card
    for (std::size_t i = 0; i < senders.size(); ++i) {
      Sender& sender = senders[(begin + i) % senders.size()];
      std::int64_t offered = 0;
      for (std::size_t m = sender.first; m < sender.messages.size() && offered < limits_.under_way;
           ++m) {
        Message& message = sender.messages[m];
        if (message.arrived) continue;
        ++offered;
        if (std::int64_t& there = taken[message.node]; there < capacity) {
          ++there;
          message.arrived = true;
          ++arrived;
        }
      }
      while (sender.first < sender.messages.size() && sender.messages[sender.first].arrived) {
        ++sender.first;
      }
    }
    found_.cards_at_once.add(static_cast<double>(taken.size()));
    ++begin;
  }
}

void Auditor::finish() {
  found_.aggregating_nodes = static_cast<std::int64_t>(bytes_of_node_.size());
  for (const auto& [node, bytes] : bytes_of_node_) found_.bytes_per_node.add(bytes);
  double all = 0;
  for (const double bytes : bytes_of_target_) all += bytes;
  for (std::size_t target = 0; target < clients_.size(); ++target) {
    if (clients_[target].empty()) continue;
    found_.client_nodes_per_target.add(static_cast<double>(clients_[target].size()));
    // The bytes are scaled, as not all pieces were examined.
    found_.bytes_per_target.add(bytes_of_target_[target] / all *
                                static_cast<double>(request_.bytes()));
  }
  for (const auto& [link, bytes] : bytes_of_link_) found_.bytes_per_link.add(bytes);
  if (routed_bytes_ > 0) found_.mean_hops = found_.hop_bytes / routed_bytes_;
  if (counted_pieces_ == 0) return;
  const double mean = off_node_bytes_ / static_cast<double>(counted_pieces_);
  const double most = found_.pieces_per_aggregator.most;
  const auto ahead = static_cast<double>(limits_.pieces_ahead);
  found_.most_bytes_ahead = mean * (limits_.pieces_ahead > 0 ? std::min(most, ahead) : most);
  const double scale = static_cast<double>(found_.pieces) / static_cast<double>(counted_pieces_);
  found_.messages = counted_messages_ * scale;
}

}  // namespace

void Spread::add(double value) {
  least = count_ == 0 ? value : std::min(least, value);
  most = count_ == 0 ? value : std::max(most, value);
  ++count_;
  mean += (value - mean) / static_cast<double>(count_);
}

Result<PlanAudit> audit(const Request& request, const topology::Topology& topology,
                        const topology::FileTargets& targets, const Parameters& parameters,
                        const AuditLimits& limits, const topology::Topology* grouped) {
  return Auditor(request, topology, targets, parameters, limits,
                 grouped == nullptr ? topology : *grouped)
      .run();
}

}  // namespace weir::bench::plan_audit
