#include "aggregation/rank_layout.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "plan/choice.hpp"
#include "ranks/processor_set.hpp"
#include "ranks/waiting.hpp"
#include "topology/aggregator_placement.hpp"

namespace weir::aggregation {
namespace {

// There is one number per rank, but only temporarily and on one rank of a node; the result is a few
// stretches.
Result<topology::Topology> topology_of(const std::vector<int>& counts,
                                       const std::vector<int>& ranks) {
  std::vector<std::int64_t> node_of_rank(ranks.size());
  std::size_t next = 0;
  for (std::size_t node = 0; node < counts.size(); ++node) {
    for (int i = 0; i < counts[node]; ++i) {
      node_of_rank.at(static_cast<std::size_t>(ranks[next++])) = static_cast<std::int64_t>(node);
    }
  }
  return topology::Topology::of_nodes(node_of_rank);
}

}  // namespace

// Data that the ranks exchange in find(). All of it is sent by nonblocking calls
// with a deadline, after which MPI may still write here.
struct RankLayout::Told {
  int rank = 0;                        // in the world
  std::array<std::int64_t, 2> most{};  // aggregators and cores of this node
  std::array<std::int64_t, 2> most_of_all{};
  std::vector<int> ranks_on_node;
  ranks::ProcessorSet own_cores;  // processors that this rank may use
  ranks::ProcessorSet node_cores;
  std::int64_t own_mask_bytes = 0;
  std::int64_t mask_bytes = 0;  // of the longest mask on this node
  // Known to the first rank of each node, while these ranks compute the topology.
  int count = 0;            // ranks of this node
  std::vector<int> counts;  // of each node
  std::vector<int> places;  // position of each node's ranks among all ranks
  std::vector<int> ranks;   // node by node
  std::array<MPI_Comm, leader_communicators> leaders{MPI_COMM_NULL, MPI_COMM_NULL};
  // Data that the first ranks send to the other ranks of their nodes.
  int stretches = 0;
  std::vector<std::int64_t> numbers;  // four for each stretch
  // The node's places in the network, and on the first ranks those of all nodes.
  bool asks_for_places = false;
  topology::NodePlaces own_places{};
  std::vector<topology::NodePlaces> all_places;
  struct {
    std::int64_t letters = 0;  // 0: the places tell no groups
    std::int64_t source = 0;
  } found;
  std::string groups;  // text of the I/O groups
};

Status RankLayout::find(MPI_Comm world, std::int64_t ranks_per_node, const Grouping& grouping,
                        std::int64_t aggregators, const ranks::Meeting& meeting) {
  if (Status made = ranks::split_nodes(world, ranks_per_node, meeting, node_); !made.ok()) {
    return made;
  }
  const auto place = ranks::place_in(world, meeting.revocation);
  if (!place) return place.error();
  ranks::KeptUntilDone<Told> told;
  told->rank = place.value().own;
  told->asks_for_places = grouping.own_places.has_value();
  told->own_places = grouping.own_places.value_or(topology::NodePlaces{});
  Status found = count_holders(world, aggregators, meeting, *told);
  if (found.ok()) found = tell_topology(world, meeting, *told);
  if (found.ok() && told->asks_for_places) found = divide_by_places(meeting, *told);
  if (!found.ok()) {
    told.keep_for_good();
    return found;
  }
  if (!grouping.own_places) {
    auto grouped = grouping.given.divide(*topology_);
    if (!grouped) return grouped.error();
    topology_ = std::move(grouped).value();
  }
  return {};
}

void RankLayout::free_communicators() {
  for (MPI_Comm& leaders : leaders_) static_cast<void>(ranks::free_communicator(leaders));
  static_cast<void>(ranks::free_communicator(node_));
}

void RankLayout::abandon() {
  leaders_.fill(MPI_COMM_NULL);
  node_ = MPI_COMM_NULL;
}

Status RankLayout::count_holders(MPI_Comm world, std::int64_t aggregators,
                                 const ranks::Meeting& meeting, Told& told) {
  const auto place = ranks::place_in(node_, meeting.revocation);
  if (!place) return place.error();
  const int node_size = place.value().ranks;
  told.ranks_on_node.resize(static_cast<std::size_t>(node_size));
  ranks::Pending pending;
  if (Status done = ranks::finish(
          ranks::gather_at_all(pending, &told.rank, 1, told.ranks_on_node.data(), MPI_INT, node_),
          pending, meeting);
      !done.ok()) {
    return done;
  }
  ranks_on_node_ = told.ranks_on_node;
  told.own_cores = ranks::ProcessorSet::of_this_process();
  told.own_mask_bytes = static_cast<std::int64_t>(told.own_cores.mask().size());
  if (Status done =
          ranks::finish(ranks::reduce_to_all(pending, &told.own_mask_bytes, &told.mask_bytes, 1,
                                             MPI_INT64_T, MPI_MAX, node_),
                        pending, meeting);
      !done.ok()) {
    return done;
  }
  told.own_cores.mask().resize(static_cast<std::size_t>(told.mask_bytes));
  told.node_cores.mask().resize(static_cast<std::size_t>(told.mask_bytes));
  if (Status done = ranks::finish(
          ranks::reduce_to_all(pending, told.own_cores.mask().data(), told.node_cores.mask().data(),
                               static_cast<int>(told.mask_bytes), MPI_BYTE, MPI_BOR, node_),
          pending, meeting);
      !done.ok()) {
    return done;
  }
  const std::int64_t cores = std::max<std::int64_t>(1, told.node_cores.count());
  ranks_per_core_ = (node_size + cores - 1) / cores;

  // The cores are those of the node and not of this rank, which may be bound to one of them. They
  // are those of the largest node, since a node with only one or a few ranks tells nothing about
  // the others.
  told.most = {std::min<std::int64_t>(cores, node_size), cores};
  if (Status done = ranks::finish(
          ranks::reduce_to_all(pending, told.most.data(), told.most_of_all.data(),
                               static_cast<int>(told.most.size()), MPI_INT64_T, MPI_MAX, world),
          pending, meeting);
      !done.ok()) {
    return done;
  }
  holders_per_node_ = aggregators > 0 ? aggregators : plan::usual_holders(told.most_of_all[0]);
  cores_per_node_ = told.most_of_all[1];
  return {};
}

Status RankLayout::tell_topology(MPI_Comm world, const ranks::Meeting& meeting, Told& told) {
  const auto place = ranks::place_in(node_, meeting.revocation);
  if (!place) return place.error();
  MPI_Comm& leaders = told.leaders[0];
  const int color = place.value().own == 0 ? 0 : MPI_UNDEFINED;
  if (Status made = ranks::split(world, color, told.rank, meeting, leaders); !made.ok())
    return made;
  ranks::Pending pending;
  if (leaders != MPI_COMM_NULL) {
    const auto of_leaders = ranks::place_in(leaders, meeting.revocation);
    if (!of_leaders) return of_leaders.error();
    const int nodes = of_leaders.value().ranks;
    told.counts.resize(static_cast<std::size_t>(nodes));
    told.count = static_cast<int>(told.ranks_on_node.size());
    if (Status done = ranks::finish(
            ranks::gather_at_all(pending, &told.count, 1, told.counts.data(), MPI_INT, leaders),
            pending, meeting);
        !done.ok()) {
      return done;
    }
    int total = 0;
    told.places.reserve(told.counts.size());
    for (const int count : told.counts) {
      told.places.push_back(total);
      total += count;
    }
    told.ranks.resize(static_cast<std::size_t>(total));
    if (Status done = ranks::finish(
            ranks::gather_at_all(pending, told.ranks_on_node.data(), told.count, told.ranks.data(),
                                 told.counts, told.places, MPI_INT, leaders),
            pending, meeting);
        !done.ok()) {
      return done;
    }
    for (std::size_t other = 1; other < leader_communicators && nodes > 1; ++other) {
      if (Status done = ranks::finish(ranks::duplicate(pending, leaders, told.leaders.at(other)),
                                      pending, meeting);
          !done.ok()) {
        return done;
      }
    }
    Status freed = nodes == 1 ? ranks::free_communicator(leaders) : Status();
    if (Status fine = ranks::unless_failed(std::move(freed), meeting.revocation); !fine.ok())
      return fine;
    leaders_ = told.leaders;
    if (told.asks_for_places && nodes > 1) {
      if (Status done = gather_places(meeting, told); !done.ok()) return done;
    }
    const auto found = topology_of(told.counts, told.ranks);
    if (!found) return found.error();
    told.stretches = static_cast<int>(found.value().stretches().size());
    for (const topology::Stretch& one : found.value().stretches()) {
      told.numbers.insert(told.numbers.end(), {one.ranks, one.first_node, one.nodes, one.block});
    }
    told.ranks = {};
  }
  if (Status done =
          ranks::finish(ranks::broadcast(pending, &told.stretches, sizeof told.stretches, 0, node_),
                        pending, meeting);
      !done.ok()) {
    return done;
  }
  told.numbers.resize(4 * static_cast<std::size_t>(told.stretches));
  if (Status done = ranks::finish(
          ranks::broadcast(pending, told.numbers.data(),
                           static_cast<std::int64_t>(told.numbers.size() * sizeof(std::int64_t)), 0,
                           node_),
          pending, meeting);
      !done.ok()) {
    return done;
  }
  std::vector<topology::Stretch> stretches;
  for (std::size_t at = 0; at < told.numbers.size(); at += 4) {
    stretches.push_back(
        {told.numbers[at], told.numbers[at + 1], told.numbers[at + 2], told.numbers[at + 3]});
  }
  const auto made = topology::Topology::of_stretches(stretches);
  if (!made) return made.error();
  topology_ = made.value();
  return find_holders(told.rank);
}

Status RankLayout::gather_places(const ranks::Meeting& meeting, Told& told) {
  constexpr int numbers = 2 * static_cast<int>(topology::place_sources.size());
  static_assert(sizeof(topology::NodePlaces) == numbers * sizeof(std::uint64_t), "sent as numbers");
  told.all_places.resize(told.counts.size());
  ranks::Pending pending;
  if (Status done =
          ranks::finish(ranks::gather_at_all(pending, told.own_places.data(), numbers,
                                             told.all_places.data(), MPI_UINT64_T, told.leaders[0]),
                        pending, meeting);
      !done.ok()) {
    return done;
  }
  if (const auto found = topology::first_groups(told.all_places)) {
    told.groups = found->groups.text();
    told.found = {static_cast<std::int64_t>(told.groups.size()),
                  static_cast<std::int64_t>(found->source)};
  }
  told.all_places = {};
  return {};
}

Status RankLayout::divide_by_places(const ranks::Meeting& meeting, Told& told) {
  ranks::Pending pending;
  if (Status done = ranks::finish(
          ranks::broadcast(pending, &told.found, sizeof told.found, 0, node_), pending, meeting);
      !done.ok()) {
    return done;
  }
  if (told.found.letters == 0) return {};
  told.groups.resize(static_cast<std::size_t>(told.found.letters));
  if (Status done =
          ranks::finish(ranks::broadcast(pending, told.groups.data(), told.found.letters, 0, node_),
                        pending, meeting);
      !done.ok()) {
    return done;
  }
  const auto groups = topology::IoGroups::parse(told.groups);
  if (!groups) return groups.error();
  auto divided = groups.value().divide(*topology_);
  if (!divided) return divided.error();
  topology_ = std::move(divided).value();
  groups_source_ = static_cast<topology::PlaceSource>(told.found.source);
  return {};
}

Status RankLayout::find_holders(int rank) {
  const auto placement = topology::AggregatorPlacement::create(
      *topology_, topology::GatherWithin::node, holders_per_node_);
  if (!placement) return placement.error();
  const std::int64_t node = topology_->node_of(rank);
  for (std::int64_t number = 0; number < placement.value().aggregators_in(node); ++number) {
    holders_.push_back(static_cast<int>(placement.value().rank_of(node, number)));
  }
  own_holder_ = holder_at(rank);
  own_place_ = place_of(rank);
  return {};
}

Status RankLayout::connect_by(const topology::Network& network) {
  auto connected = topology_->with_network(network);
  if (!connected) return connected.error();
  topology_ = std::move(connected).value();
  return {};
}

std::int64_t RankLayout::holders() const {
  const auto in_one_group = topology_->with_io_groups(topology_->nodes());
  if (!in_one_group) return 0;
  const auto all =
      topology::AggregatorPlacement::create(in_one_group.value(), topology::GatherWithin::io_group,
                                            topology_->ranks(), {holders_per_node_, 1});
  return all ? all.value().aggregators_in(0) : 0;
}

bool RankLayout::is_on_node(std::int64_t rank) const {
  return rank <= std::numeric_limits<int>::max() &&
         std::binary_search(ranks_on_node_.begin(), ranks_on_node_.end(), static_cast<int>(rank));
}

std::int64_t RankLayout::holder_at(std::int64_t rank) const {
  const auto found = std::lower_bound(holders_.begin(), holders_.end(), rank);
  return found != holders_.end() && *found == rank ? found - holders_.begin() : -1;
}

std::int64_t RankLayout::place_of(int rank) const {
  return std::lower_bound(ranks_on_node_.begin(), ranks_on_node_.end(), rank) -
         ranks_on_node_.begin();
}

}  // namespace weir::aggregation
