#include "aggregation/node_group.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <new>
#include <string>
#include <utility>

#include "aggregation/memory_sharing.hpp"
#include "common/clock.hpp"
#include "common/page.hpp"
#include "plan/rank_pieces.hpp"
#include "ranks/processor_set.hpp"
#include "ranks/progress.hpp"
#include "ranks/splitting.hpp"
#include "ranks/waiting.hpp"

namespace weir::aggregation {
namespace {

// Time for which create() waits for connections between leaders.
constexpr std::int64_t linking_ns = 500'000'000;
constexpr int to_next_tag = 21;
constexpr int to_previous_tag = 22;
constexpr const char* waited_for = "the other ranks to share memory";

struct Header {
  alignas(cache_line_bytes) std::atomic<std::int64_t> failed_request;
  // Used only in the first holder's part.
  alignas(cache_line_bytes) std::array<std::byte, ranks::Revocation::memory_bytes> revocation;
};

struct alignas(cache_line_bytes) PaddedWakeUp {
  ranks::WakeUp wake_up;
};

// The value of `open` if there is no ticket.
constexpr std::int64_t closed = -1;

constexpr std::int64_t mark_bits = 64;

std::int64_t round_to_pages(std::int64_t bytes) {
  return (bytes + page_bytes - 1) / page_bytes * page_bytes;
}

// Limit on the aggregators of a node if settings do not give their number: so many fill its link
// and its page cache, and each of them takes memory for buffers.
constexpr std::int64_t most_holders = 16;

}  // namespace

// Data that the ranks exchange while they create the group. All of it is sent by nonblocking calls
// with a deadline, after which MPI may still write here.
struct NodeGroup::Told {
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
  std::array<MPI_Comm, channel_count> leaders{MPI_COMM_NULL, MPI_COMM_NULL};
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

// One buffer fills while another is moved. Messages take longer than copies, and the last message
// of a piece may be much later than the others; more buffers keep the links busy meanwhile.
std::int64_t usual_buffers(std::int64_t buffer_bytes, std::int64_t nodes) {
  constexpr std::int64_t most_usual_bytes = 16 << 20;  // per aggregator
  constexpr std::int64_t most_usual_buffers = 8;
  if (nodes == 1) return 2;
  return std::clamp<std::int64_t>(most_usual_bytes / buffer_bytes, 2, most_usual_buffers);
}

}  // namespace

NodeGroup::~NodeGroup() {
  descriptors_.reset();
  if (neighbours_ != nullptr) neighbours_->leave();
  // All messages have ended, so a communicator that is not freed is lost memory and nothing else.
  for (MPI_Comm& leaders : leaders_) static_cast<void>(ranks::free_communicator(leaders));
  static_cast<void>(ranks::free_communicator(node_));
}

void NodeGroup::abandon() {
  for (const auto& channel : channels_) {
    if (channel != nullptr) channel->abandon();
  }
  leaders_.fill(MPI_COMM_NULL);
  if (life_ != nullptr) life_->leave();
  // Messages under way may still be written to buffers.
  if (memory_) memory_->keep_for_good();
  node_ = MPI_COMM_NULL;
}

Status NodeGroup::create(MPI_Comm world, std::int64_t ranks_per_node, const Grouping& grouping,
                         std::int64_t aggregators, std::int64_t buffers, std::int64_t buffer_bytes,
                         double deadline_seconds, ranks::Revocation& opening) {
  buffers_ = buffers;
  buffer_bytes_ = round_to_pages(buffer_bytes);
  deadline_seconds_ = deadline_seconds;
  opening_ = &opening;
  world_ = world;
  if (Status made = split_nodes(world, ranks_per_node); !made.ok()) return made;
  const auto place = ranks::place_in(world, opening);
  if (!place) return place.error();
  ranks::KeptUntilDone<Told> told;
  told->rank = place.value().own;
  told->asks_for_places = grouping.own_places.has_value();
  told->own_places = grouping.own_places.value_or(topology::NodePlaces{});
  Status made = count_holders(world, aggregators, *told);
  if (made.ok()) made = tell_topology(world, *told);
  if (made.ok() && told->asks_for_places) made = divide_by_places(*told);
  if (!made.ok()) {
    told.keep_for_good();
    return made;
  }
  if (!grouping.own_places) {
    auto grouped = grouping.given.divide(*topology_);
    if (!grouped) return grouped.error();
    topology_ = std::move(grouped).value();
  }
  if (buffers_ == 0) buffers_ = usual_buffers(buffer_bytes_, nodes());
  return make_memory(world);
}

Status NodeGroup::wait(const Status& begun, ranks::Pending& pending) const {
  if (begun.ok()) return ranks::wait_for(pending, *opening_, deadline_seconds_, waited_for);
  opening_->revoke(begun.error());
  return begun;
}

Status NodeGroup::split(MPI_Comm communicator, int color, int key, MPI_Comm& part) const {
  return ranks::split(communicator, color, key, {*opening_, deadline_seconds_, waited_for}, part);
}

Status NodeGroup::split_nodes(MPI_Comm world, std::int64_t ranks_per_node) {
  return ranks::split_nodes(world, ranks_per_node, {*opening_, deadline_seconds_, waited_for},
                            node_);
}

Status NodeGroup::count_holders(MPI_Comm world, std::int64_t aggregators, Told& told) {
  const auto place = ranks::place_in(node_, *opening_);
  if (!place) return place.error();
  const int node_size = place.value().ranks;
  told.ranks_on_node.resize(static_cast<std::size_t>(node_size));
  ranks::Pending pending;
  if (Status done = wait(
          ranks::gather_at_all(pending, &told.rank, 1, told.ranks_on_node.data(), MPI_INT, node_),
          pending);
      !done.ok()) {
    return done;
  }
  ranks_on_node_ = told.ranks_on_node;
  told.own_cores = ranks::ProcessorSet::of_this_process();
  told.own_mask_bytes = static_cast<std::int64_t>(told.own_cores.mask().size());
  if (Status done = wait(ranks::reduce_to_all(pending, &told.own_mask_bytes, &told.mask_bytes, 1,
                                              MPI_INT64_T, MPI_MAX, node_),
                         pending);
      !done.ok()) {
    return done;
  }
  told.own_cores.mask().resize(static_cast<std::size_t>(told.mask_bytes));
  told.node_cores.mask().resize(static_cast<std::size_t>(told.mask_bytes));
  if (Status done = wait(
          ranks::reduce_to_all(pending, told.own_cores.mask().data(), told.node_cores.mask().data(),
                               static_cast<int>(told.mask_bytes), MPI_BYTE, MPI_BOR, node_),
          pending);
      !done.ok()) {
    return done;
  }
  const std::int64_t cores = std::max<std::int64_t>(1, told.node_cores.count());
  ranks_per_core_ = (node_size + cores - 1) / cores;

  // The cores are those of the node and not of this rank, which may be bound to one of them. They
  // are those of the largest node, since a node with only one or a few ranks tells nothing about
  // the others.
  told.most = {std::min<std::int64_t>(cores, node_size), cores};
  if (Status done = wait(
          ranks::reduce_to_all(pending, told.most.data(), told.most_of_all.data(),
                               static_cast<int>(told.most.size()), MPI_INT64_T, MPI_MAX, world),
          pending);
      !done.ok()) {
    return done;
  }
  holders_per_node_ = aggregators > 0 ? aggregators : std::min(told.most_of_all[0], most_holders);
  cores_per_node_ = told.most_of_all[1];
  return {};
}

Status NodeGroup::tell_topology(MPI_Comm world, Told& told) {
  const auto place = ranks::place_in(node_, *opening_);
  if (!place) return place.error();
  MPI_Comm& leaders = told.leaders[0];
  const int color = place.value().own == 0 ? 0 : MPI_UNDEFINED;
  if (Status made = split(world, color, told.rank, leaders); !made.ok()) return made;
  ranks::Pending pending;
  if (leaders != MPI_COMM_NULL) {
    const auto of_leaders = ranks::place_in(leaders, *opening_);
    if (!of_leaders) return of_leaders.error();
    const int nodes = of_leaders.value().ranks;
    told.counts.resize(static_cast<std::size_t>(nodes));
    told.count = static_cast<int>(told.ranks_on_node.size());
    if (Status done = wait(
            ranks::gather_at_all(pending, &told.count, 1, told.counts.data(), MPI_INT, leaders),
            pending);
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
    if (Status done = wait(
            ranks::gather_at_all(pending, told.ranks_on_node.data(), told.count, told.ranks.data(),
                                 told.counts, told.places, MPI_INT, leaders),
            pending);
        !done.ok()) {
      return done;
    }
    for (std::size_t other = 1; other < channel_count && nodes > 1; ++other) {
      if (Status done = wait(ranks::duplicate(pending, leaders, told.leaders.at(other)), pending);
          !done.ok()) {
        return done;
      }
    }
    Status freed = nodes == 1 ? ranks::free_communicator(leaders) : Status();
    if (Status fine = ranks::unless_failed(std::move(freed), *opening_); !fine.ok()) return fine;
    leaders_ = told.leaders;
    if (told.asks_for_places && nodes > 1) {
      if (Status done = gather_places(told); !done.ok()) return done;
    }
    const auto found = topology_of(told.counts, told.ranks);
    if (!found) return found.error();
    told.stretches = static_cast<int>(found.value().stretches().size());
    for (const topology::Stretch& one : found.value().stretches()) {
      told.numbers.insert(told.numbers.end(), {one.ranks, one.first_node, one.nodes, one.block});
    }
    told.ranks = {};
  }
  if (Status done = wait(
          ranks::broadcast(pending, &told.stretches, sizeof told.stretches, 0, node_), pending);
      !done.ok()) {
    return done;
  }
  told.numbers.resize(4 * static_cast<std::size_t>(told.stretches));
  if (Status done =
          wait(ranks::broadcast(
                   pending, told.numbers.data(),
                   static_cast<std::int64_t>(told.numbers.size() * sizeof(std::int64_t)), 0, node_),
               pending);
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

Status NodeGroup::gather_places(Told& told) const {
  constexpr int numbers = 2 * static_cast<int>(topology::place_sources.size());
  static_assert(sizeof(topology::NodePlaces) == numbers * sizeof(std::uint64_t), "sent as numbers");
  told.all_places.resize(told.counts.size());
  ranks::Pending pending;
  if (Status done =
          wait(ranks::gather_at_all(pending, told.own_places.data(), numbers,
                                    told.all_places.data(), MPI_UINT64_T, told.leaders[0]),
               pending);
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

Status NodeGroup::divide_by_places(Told& told) {
  ranks::Pending pending;
  if (Status done =
          wait(ranks::broadcast(pending, &told.found, sizeof told.found, 0, node_), pending);
      !done.ok()) {
    return done;
  }
  if (told.found.letters == 0) return {};
  told.groups.resize(static_cast<std::size_t>(told.found.letters));
  if (Status done = wait(
          ranks::broadcast(pending, told.groups.data(), told.found.letters, 0, node_), pending);
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

Status NodeGroup::find_holders(int rank) {
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

Status NodeGroup::connect_by(const topology::Network& network) {
  auto connected = topology_->with_network(network);
  if (!connected) return connected.error();
  topology_ = std::move(connected).value();
  return {};
}

std::int64_t NodeGroup::holders() const {
  const auto in_one_group = topology_->with_io_groups(topology_->nodes());
  if (!in_one_group) return 0;
  const auto all =
      topology::AggregatorPlacement::create(in_one_group.value(), topology::GatherWithin::io_group,
                                            topology_->ranks(), {holders_per_node_, 1});
  return all ? all.value().aggregators_in(0) : 0;
}

std::int64_t NodeGroup::header_bytes() const {
  return round_to_pages(static_cast<std::int64_t>(sizeof(Header)) +
                        buffers_ * static_cast<std::int64_t>(sizeof(BufferControl)) +
                        places() * static_cast<std::int64_t>(sizeof(PaddedWakeUp)) +
                        static_cast<std::int64_t>(sizeof(DescriptorBoard)) +
                        ranks::LifeSigns::memory_bytes(places()));
}

std::int64_t NodeGroup::slots_per_holder() const {
  if (topology_->nodes() == 1) return 0;
  const auto holders = static_cast<std::int64_t>(holders_.size());
  return std::max(buffers_, (plan::least_messages_under_way + holders - 1) / holders);
}

std::vector<std::int64_t> NodeGroup::part_offsets() const {
  std::vector<std::int64_t> offsets;
  std::int64_t end = 0;
  for (std::size_t holder = 0; holder < holders_.size(); ++holder) {
    offsets.push_back(end);
    end += header_bytes() + (buffers_ + slots_per_holder()) * buffer_bytes_;
    if (holder == 0) {
      end += static_cast<std::int64_t>(channel_count) *
             round_to_pages(ranks::Channel::memory_bytes(places()));
      if (slot_count() > 0) {
        end += round_to_pages(MessageSlots::board_bytes(slot_count(), places()));
      }
    }
  }
  offsets.push_back(end);
  return offsets;
}

Status NodeGroup::make_memory(MPI_Comm world) {
  Status handled =
      ranks::unless_failed(ranks::status_of(MPI_Comm_set_errhandler(node_, MPI_ERRORS_RETURN),
                                            "MPI_Comm_set_errhandler"),
                           *opening_);
  if (!handled.ok()) return handled;
  std::optional<NodeSockets> sockets;
  Status possible;
  if (places() > 1) {
    auto made = make_sockets(node_, *opening_, deadline_seconds_);
    if (made) {
      sockets = std::move(made).value();
    } else {
      possible = made.error();
      if (ranks::ends_communication(possible.error())) return possible;
    }
  }
  const std::int64_t least = std::min(buffer_bytes_, least_buffer_bytes);
  for (std::uint64_t attempt = 1;; ++attempt) {
    const std::vector<std::int64_t> offsets = part_offsets();
    NodePart own;
    if (own_holder_ >= 0) {
      const auto holder = static_cast<std::size_t>(own_holder_);
      own = {offsets[holder], offsets[holder + 1] - offsets[holder]};
    }
    auto shared = share_memory(node_, sockets ? &*sockets : nullptr, offsets.back(), own, attempt,
                               *opening_, deadline_seconds_);
    Status mine = shared || !possible.ok() ? possible : Status(shared.error());
    if (!mine.ok() && ranks::ends_communication(mine.error())) return mine;
    // Smaller buffers may help against a lack of memory, but not against any other error.
    enum : int { failed, too_little, enough };
    struct Outcomes {
      int mine = enough;
      int all = enough;
    };
    ranks::KeptUntilDone<Outcomes> outcomes;
    if (!mine.ok()) {
      const ErrorCode code = mine.error().code;
      // A rank that only saw that the first rank had failed leaves it to that rank to report the
      // reason.
      outcomes->mine = code == ErrorCode::insufficient ? too_little
                       : code == ErrorCode::peer       ? enough
                                                       : failed;
    }
    ranks::Pending pending;
    if (Status done = wait(ranks::reduce_to_all(pending, &outcomes->mine, &outcomes->all, 1,
                                                MPI_INT, MPI_MIN, world),
                           pending);
        !done.ok()) {
      outcomes.keep_for_good();
      return done;
    }
    if (outcomes->all == enough) {
      memory_ = std::move(shared).value();
      for (std::size_t holder = 0; holder < holders_.size(); ++holder) {
        segments_.push_back(memory_->data() + offsets[holder]);
      }
      return fill_memory(std::move(sockets));
    }
    if (outcomes->all == failed || buffer_bytes_ <= least) {
      if (!mine.ok() && mine.error().code == ErrorCode::insufficient) {
        mine.error().message = fmt::format(
            "{}; {} aggregators with {} buffers of {} bytes need {} bytes on this node: set fewer "
            "(aggregators, buffers) or smaller ones (buffer_bytes), or give the job more memory",
            mine.error().message, holders_.size(), buffers_ + slots_per_holder(), buffer_bytes_,
            offsets.back());
      }
      return mine;
    }
    // All ranks release the memory of this attempt before the next attempt.
    shared = Error();
    if (Status met = ranks::meet(world, *opening_, deadline_seconds_, waited_for); !met.ok()) {
      return met;
    }
    buffer_bytes_ = round_to_pages(std::max(least, buffer_bytes_ / 2));
  }
}

Status NodeGroup::fill_memory(std::optional<NodeSockets> sockets) {
  if (own_holder_ >= 0) {
    new (segments_[static_cast<std::size_t>(own_holder_)]) Header{};
    for (std::int64_t number = 0; number < buffers_; ++number) {
      auto* const made_control = new (&control(own_holder_, number)) BufferControl{};
      made_control->open.store(closed);
    }
  }
  if (own_holder_ == 0) {  // they are in the first holder's part
    for (std::int64_t place = 0; place < places(); ++place) new (&wake_up(place)) PaddedWakeUp{};
  }
  if (own_holder_ == 0) {
    new (descriptor_memory()) DescriptorBoard{};
    ranks::LifeSigns::prepare(descriptor_memory() + sizeof(DescriptorBoard), places());
    ranks::Revocation::prepare(reinterpret_cast<Header*>(segments_.front())->revocation.data());
    for (std::size_t i = 0; i < channel_count; ++i) ranks::Channel::prepare(channel_memory(i));
    if (slot_count() > 0) MessageSlots::prepare(slot_board(), slot_count(), places());
  }
  // Signs are written only after everything has been prepared.
  if (Status met = ranks::meet(node_, *opening_, deadline_seconds_, waited_for); !met.ok()) {
    return met;
  }
  make_life_signs();
  make_channels();
  if (slot_count() > 0) make_slots();
  if (sockets) make_descriptors(std::move(*sockets));
  if (Status linked = make_neighbour_links(); !linked.ok()) return linked;
  return ranks::meet(node_, *opening_, deadline_seconds_, waited_for);
}

Result<std::shared_ptr<storage::SharedMemory>> NodeGroup::share_more(std::int64_t bytes) const {
  MemorySharing sharing(descriptors_.get(), bytes, MemorySharing::ReservedBy::each);
  const Status waited = ranks::wait_until([&] { return sharing.step(); }, *revocation_,
                                          deadline_seconds_, waited_for, life_.get());
  if (!waited.ok()) return waited.error();
  return sharing.take();
}

std::byte* NodeGroup::descriptor_memory() const {
  return reinterpret_cast<std::byte*>(&wake_up(0)) +
         static_cast<std::size_t>(places()) * sizeof(PaddedWakeUp);
}

void NodeGroup::make_life_signs() {
  life_ = std::make_unique<ranks::LifeSigns>(descriptor_memory() + sizeof(DescriptorBoard),
                                             ranks_on_node_, own_place_, topology_->nodes() > 1,
                                             deadline_seconds_);
}

// The board follows the wake-ups in memory.
void NodeGroup::make_descriptors(NodeSockets sockets) {
  descriptors_ = std::make_unique<NodeDescriptors>(
      *reinterpret_cast<DescriptorBoard*>(descriptor_memory()), std::move(sockets), own_place_,
      *revocation_, *life_, deadline_seconds_);
}

std::byte* NodeGroup::channel_memory(std::size_t number) const {
  return segments_.front() + header_bytes() + (buffers_ + slots_per_holder()) * buffer_bytes_ +
         static_cast<std::int64_t>(number) * round_to_pages(ranks::Channel::memory_bytes(places()));
}

std::byte* NodeGroup::slot_board() const { return channel_memory(channel_count); }

void NodeGroup::make_slots() {
  std::vector<std::byte*> data;
  for (std::int64_t holder = 0; holder < std::ssize(holders_); ++holder) {
    // The slots follow the holder's buffers.
    for (std::int64_t number = 0; number < slots_per_holder(); ++number) {
      data.push_back(buffer(holder, buffers_ + number));
    }
  }
  slots_.emplace(slot_board(), std::move(data), buffer_bytes_, own_place_, places());
}

void NodeGroup::make_channels() {
  const bool has_other_nodes = topology_->nodes() > 1;
  const ranks::Channel::Place place{.own = own_place_,
                                    .count = places(),
                                    .has_other_nodes = has_other_nodes,
                                    .ranks_per_core = ranks_per_core_};
  revocation_ = std::make_unique<ranks::Revocation>(
      reinterpret_cast<Header*>(segments_.front())->revocation.data(),
      ranks::Revocation::Nodes{
          .communicator = has_other_nodes ? world_ : MPI_COMM_NULL,
          .count = topology_->nodes(),
          .own = topology_->node_of(rank_at(own_place_)),
          .is_leader = own_place_ == 0,
          .leader_of =
              [this](std::int64_t node) { return static_cast<int>(topology_->rank_on(node, 0)); }},
      node_, rank_at(own_place_));
  revocation_->wake_by([this] {
    for (std::int64_t other = 0; other < places(); ++other) wake_up(other).notify();
  });
  for (std::size_t i = 0; i < channel_count; ++i) {
    channels_.at(i) = std::make_unique<ranks::Channel>(
        channel_memory(i), place, has_other_nodes ? leaders_.at(i) : MPI_COMM_NULL, *revocation_);
    channels_.at(i)->watch(life_.get());
  }
}

Status NodeGroup::make_neighbour_links() {
  if (leaders_.front() == MPI_COMM_NULL) return {};
  struct Addresses {
    ranks::NeighbourLinks::Address own, next, previous;
  };
  ranks::KeptUntilDone<Addresses> addresses;
  neighbours_ = std::make_unique<ranks::NeighbourLinks>(deadline_seconds_);
  addresses->own = neighbours_->address();
  const auto place = ranks::place_in(leaders_.front(), *opening_);
  if (!place) return place.error();
  const auto [own, nodes] = place.value();
  const int next = (own + 1) % nodes;
  const int previous = (own + nodes - 1) % nodes;
  constexpr auto bytes = static_cast<std::int64_t>(sizeof(addresses->own));
  const MPI_Comm leaders = leaders_.front();
  // In a ring of two, the tag distinguishes the two directions.
  std::array<ranks::Pending, 4> pending;
  Status done = ranks::receive(pending[0], &addresses->next, bytes, next, to_previous_tag, leaders);
  if (done.ok()) {
    done = ranks::receive(pending[1], &addresses->previous, bytes, previous, to_next_tag, leaders);
  }
  if (done.ok()) {
    done = ranks::send(pending[2], &addresses->own, bytes, previous, to_previous_tag, leaders);
  }
  if (done.ok()) {
    done = ranks::send(pending[3], &addresses->own, bytes, next, to_next_tag, leaders);
  }
  if (!done.ok()) opening_->revoke(done.error());
  for (std::size_t i = 0; i < pending.size() && done.ok(); ++i) {
    done = wait({}, pending.at(i));
  }
  if (!done.ok()) {
    addresses.keep_for_good();
    return done;
  }
  neighbours_->connect(addresses->next, addresses->previous);
  // A connection that takes longer, or is not answered yet, may still be made while ranks wait.
  const std::int64_t end_ns = monotonic_ns() + linking_ns;
  const auto linked = [&] {
    const std::int64_t now_ns = monotonic_ns();
    static_cast<void>(neighbours_->look(now_ns));
    return neighbours_->is_settled() || now_ns > end_ns;
  };
  if (Status waited = ranks::wait_until(linked, *opening_, deadline_seconds_, waited_for);
      !waited.ok()) {
    return waited;
  }
  life_->watch_neighbours(neighbours_->is_watching());
  revocation_->watch_by([this] { look_at_neighbours(); });
  return {};
}

void NodeGroup::look_at_neighbours() {
  const std::int64_t now_ns = monotonic_ns();
  if (now_ns - looked_at_neighbours_ns_ < life_->interval_ns()) return;
  looked_at_neighbours_ns_ = now_ns;
  const auto loss = neighbours_->look(now_ns);
  life_->watch_neighbours(neighbours_->is_watching());
  if (!loss) return;
  const std::int64_t own = topology_->node_of(rank_at(own_place_));
  const bool is_next = loss->which == ranks::NeighbourLinks::Neighbour::next;
  const std::int64_t lost = (own + (is_next ? 1 : nodes() - 1)) % nodes();
  Error error;
  error.code = ErrorCode::deadline;
  error.message = fmt::format("rank {} {}; the session is broken: close it",
                              topology_->rank_on(lost, 0), loss->text);
  revocation_->revoke(error);
}

bool NodeGroup::is_on_node(std::int64_t rank) const {
  return rank <= std::numeric_limits<int>::max() &&
         std::binary_search(ranks_on_node_.begin(), ranks_on_node_.end(), static_cast<int>(rank));
}

std::int64_t NodeGroup::holder_at(std::int64_t rank) const {
  const auto found = std::lower_bound(holders_.begin(), holders_.end(), rank);
  return found != holders_.end() && *found == rank ? found - holders_.begin() : -1;
}

BufferControl& NodeGroup::control(std::int64_t holder, std::int64_t buffer) const {
  std::byte* const segment = segments_[static_cast<std::size_t>(holder)];
  return reinterpret_cast<BufferControl*>(segment + sizeof(Header))[buffer];
}

std::byte* NodeGroup::buffer(std::int64_t holder, std::int64_t buffer) const {
  return segments_[static_cast<std::size_t>(holder)] + header_bytes() + buffer * buffer_bytes_;
}

std::int64_t NodeGroup::place_of(int rank) const {
  return std::lower_bound(ranks_on_node_.begin(), ranks_on_node_.end(), rank) -
         ranks_on_node_.begin();
}

ranks::WakeUp& NodeGroup::wake_up(std::int64_t place) const {
  std::byte* const after_controls = segments_.front() + sizeof(Header) +
                                    static_cast<std::size_t>(buffers_) * sizeof(BufferControl);
  return reinterpret_cast<PaddedWakeUp*>(after_controls)[place].wake_up;
}

void NodeGroup::open(std::int64_t buffer, std::int64_t ticket, std::int64_t expected) const {
  BufferControl& opened = control(own_holder_, buffer);
  opened.arrived.store(0, std::memory_order_relaxed);
  opened.expected.store(expected, std::memory_order_relaxed);
  // Sequential consistency with mark() ensures that either the sharer sees the ticket, or this call
  // sees the mark.
  opened.open.store(ticket, std::memory_order_seq_cst);
  if (opened.marks.load(std::memory_order_seq_cst) == 0) return;
  const std::uint64_t marks = opened.marks.exchange(0, std::memory_order_seq_cst);
  for (std::int64_t place = 0; place < places(); ++place) {
    if ((marks >> (place % mark_bits) & 1) != 0) wake_up(place).notify();
  }
}

void NodeGroup::close(std::int64_t buffer) const {
  control(own_holder_, buffer).open.store(closed, std::memory_order_relaxed);
}

bool NodeGroup::mark(std::int64_t holder, std::int64_t buffer, std::int64_t ticket) const {
  BufferControl& wanted = control(holder, buffer);
  wanted.marks.fetch_or(std::uint64_t{1} << (own_place_ % mark_bits), std::memory_order_seq_cst);
  return wanted.open.load(std::memory_order_seq_cst) != ticket;
}

void NodeGroup::arrive(std::int64_t holder, std::int64_t buffer, std::int64_t bytes) const {
  BufferControl& shared = control(holder, buffer);
  const std::int64_t expected = shared.expected.load(std::memory_order_relaxed);
  if (shared.arrived.fetch_add(bytes, std::memory_order_acq_rel) + bytes == expected) {
    wake_up(place_of(holders_[static_cast<std::size_t>(holder)])).notify();
  }
}

std::atomic<std::int64_t>& NodeGroup::failed_request() const {
  return reinterpret_cast<Header*>(segments_.front())->failed_request;
}

}  // namespace weir::aggregation
