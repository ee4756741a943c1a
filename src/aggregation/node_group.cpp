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
#include "plan/choice.hpp"
#include "plan/rank_pieces.hpp"
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

}  // namespace

NodeGroup::~NodeGroup() {
  descriptors_.reset();
  if (neighbours_ != nullptr) neighbours_->leave();
  // All messages have ended, so a communicator that is not freed is lost memory and nothing else.
  layout_.free_communicators();
}

void NodeGroup::abandon() {
  for (const auto& channel : channels_) {
    if (channel != nullptr) channel->abandon();
  }
  if (life_ != nullptr) life_->leave();
  // Messages under way may still be written to buffers.
  if (memory_) memory_->keep_for_good();
  layout_.abandon();
}

Status NodeGroup::create(MPI_Comm world, std::int64_t ranks_per_node,
                         const RankLayout::Grouping& grouping, std::int64_t aggregators,
                         std::int64_t buffers, std::int64_t buffer_bytes, double deadline_seconds,
                         ranks::Revocation& opening) {
  buffers_ = buffers;
  buffer_bytes_ = round_to_pages(buffer_bytes);
  deadline_seconds_ = deadline_seconds;
  opening_ = &opening;
  world_ = world;
  Status found = layout_.find(world, ranks_per_node, grouping, aggregators, meeting());
  if (!found.ok()) return found;
  if (buffers_ == 0) buffers_ = plan::usual_buffers(buffer_bytes_, nodes());
  return make_memory(world);
}

ranks::Meeting NodeGroup::meeting() const { return {*opening_, deadline_seconds_, waited_for}; }

std::int64_t NodeGroup::header_bytes() const {
  return round_to_pages(static_cast<std::int64_t>(sizeof(Header)) +
                        buffers_ * static_cast<std::int64_t>(sizeof(BufferControl)) +
                        places() * static_cast<std::int64_t>(sizeof(PaddedWakeUp)) +
                        static_cast<std::int64_t>(sizeof(DescriptorBoard)) +
                        ranks::LifeSigns::memory_bytes(places()));
}

std::int64_t NodeGroup::slots_per_holder() const {
  if (nodes() == 1) return 0;
  const auto holders = static_cast<std::int64_t>(layout_.own_holders().size());
  return plan::slots_of_a_holder(buffers_, holders);
}

std::vector<std::int64_t> NodeGroup::part_offsets() const {
  std::vector<std::int64_t> offsets;
  std::int64_t end = 0;
  for (std::size_t holder = 0; holder < layout_.own_holders().size(); ++holder) {
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
  Status handled = ranks::unless_failed(
      ranks::status_of(MPI_Comm_set_errhandler(layout_.node(), MPI_ERRORS_RETURN),
                       "MPI_Comm_set_errhandler"),
      *opening_);
  if (!handled.ok()) return handled;
  std::optional<NodeSockets> sockets;
  Status possible;
  if (places() > 1) {
    auto made = make_sockets(layout_.node(), *opening_, deadline_seconds_);
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
    if (own_holder() >= 0) {
      const auto holder = static_cast<std::size_t>(own_holder());
      own = {offsets[holder], offsets[holder + 1] - offsets[holder]};
    }
    auto shared = share_memory(layout_.node(), sockets ? &*sockets : nullptr, offsets.back(), own,
                               attempt, *opening_, deadline_seconds_);
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
    if (Status done = ranks::finish(ranks::reduce_to_all(pending, &outcomes->mine, &outcomes->all,
                                                         1, MPI_INT, MPI_MIN, world),
                                    pending, meeting());
        !done.ok()) {
      outcomes.keep_for_good();
      return done;
    }
    if (outcomes->all == enough) {
      memory_ = std::move(shared).value();
      for (std::size_t holder = 0; holder < layout_.own_holders().size(); ++holder) {
        segments_.push_back(memory_->data() + offsets[holder]);
      }
      return fill_memory(std::move(sockets));
    }
    if (outcomes->all == failed || buffer_bytes_ <= least) {
      if (!mine.ok() && mine.error().code == ErrorCode::insufficient) {
        mine.error().message = fmt::format(
            "{}; {} aggregators with {} buffers of {} bytes need {} bytes on this node: set fewer "
            "(aggregators, buffers) or smaller ones (buffer_bytes), or give the job more memory",
            mine.error().message, layout_.own_holders().size(), buffers_ + slots_per_holder(),
            buffer_bytes_, offsets.back());
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
  if (own_holder() >= 0) {
    new (segments_[static_cast<std::size_t>(own_holder())]) Header{};
    for (std::int64_t number = 0; number < buffers_; ++number) {
      auto* const made_control = new (&control(own_holder(), number)) BufferControl{};
      made_control->open.store(closed);
    }
  }
  if (own_holder() == 0) {  // they are in the first holder's part
    for (std::int64_t place = 0; place < places(); ++place) new (&wake_up(place)) PaddedWakeUp{};
  }
  if (own_holder() == 0) {
    new (descriptor_memory()) DescriptorBoard{};
    ranks::LifeSigns::prepare(descriptor_memory() + sizeof(DescriptorBoard), places());
    ranks::Revocation::prepare(reinterpret_cast<Header*>(segments_.front())->revocation.data());
    for (std::size_t i = 0; i < channel_count; ++i) ranks::Channel::prepare(channel_memory(i));
    if (slot_count() > 0) MessageSlots::prepare(slot_board(), slot_count(), places());
  }
  // Signs are written only after everything has been prepared.
  if (Status met = ranks::meet(layout_.node(), *opening_, deadline_seconds_, waited_for);
      !met.ok()) {
    return met;
  }
  make_life_signs();
  make_channels();
  if (slot_count() > 0) make_slots();
  if (sockets) make_descriptors(std::move(*sockets));
  if (Status linked = make_neighbour_links(); !linked.ok()) return linked;
  return ranks::meet(layout_.node(), *opening_, deadline_seconds_, waited_for);
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
                                             layout_.ranks_on_node(), own_place(), nodes() > 1,
                                             deadline_seconds_);
}

// The board follows the wake-ups in memory.
void NodeGroup::make_descriptors(NodeSockets sockets) {
  descriptors_ = std::make_unique<NodeDescriptors>(
      *reinterpret_cast<DescriptorBoard*>(descriptor_memory()), std::move(sockets), own_place(),
      *revocation_, *life_, deadline_seconds_);
}

std::byte* NodeGroup::channel_memory(std::size_t number) const {
  return segments_.front() + header_bytes() + (buffers_ + slots_per_holder()) * buffer_bytes_ +
         static_cast<std::int64_t>(number) * round_to_pages(ranks::Channel::memory_bytes(places()));
}

std::byte* NodeGroup::slot_board() const { return channel_memory(channel_count); }

void NodeGroup::make_slots() {
  std::vector<std::byte*> data;
  for (std::int64_t holder = 0; holder < std::ssize(layout_.own_holders()); ++holder) {
    // The slots follow the holder's buffers.
    for (std::int64_t number = 0; number < slots_per_holder(); ++number) {
      data.push_back(buffer(holder, buffers_ + number));
    }
  }
  slots_.emplace(slot_board(), std::move(data), buffer_bytes_, own_place(), places());
}

void NodeGroup::make_channels() {
  const bool has_other_nodes = nodes() > 1;
  const ranks::Channel::Place place{.own = own_place(),
                                    .count = places(),
                                    .has_other_nodes = has_other_nodes,
                                    .ranks_per_core = layout_.ranks_per_core()};
  revocation_ = std::make_unique<ranks::Revocation>(
      reinterpret_cast<Header*>(segments_.front())->revocation.data(),
      ranks::Revocation::Nodes{
          .communicator = has_other_nodes ? world_ : MPI_COMM_NULL,
          .count = nodes(),
          .own = topology().node_of(rank_at(own_place())),
          .is_leader = own_place() == 0,
          .leader_of =
              [this](std::int64_t node) { return static_cast<int>(topology().rank_on(node, 0)); }},
      layout_.node(), rank_at(own_place()));
  revocation_->wake_by([this] {
    for (std::int64_t other = 0; other < places(); ++other) wake_up(other).notify();
  });
  for (std::size_t i = 0; i < channel_count; ++i) {
    channels_.at(i) = std::make_unique<ranks::Channel>(
        channel_memory(i), place, has_other_nodes ? layout_.leaders(i) : MPI_COMM_NULL,
        *revocation_);
    channels_.at(i)->watch(life_.get());
  }
}

Status NodeGroup::make_neighbour_links() {
  const MPI_Comm leaders = layout_.leaders(0);
  if (leaders == MPI_COMM_NULL) return {};
  struct Addresses {
    ranks::NeighbourLinks::Address own, next, previous;
  };
  ranks::KeptUntilDone<Addresses> addresses;
  neighbours_ = std::make_unique<ranks::NeighbourLinks>(deadline_seconds_);
  addresses->own = neighbours_->address();
  const auto place = ranks::place_in(leaders, *opening_);
  if (!place) return place.error();
  const auto [own, nodes] = place.value();
  const int next = (own + 1) % nodes;
  const int previous = (own + nodes - 1) % nodes;
  constexpr auto bytes = static_cast<std::int64_t>(sizeof(addresses->own));
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
    done = ranks::finish({}, pending.at(i), meeting());
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
  const std::int64_t own = topology().node_of(rank_at(own_place()));
  const bool is_next = loss->which == ranks::NeighbourLinks::Neighbour::next;
  const std::int64_t lost = (own + (is_next ? 1 : nodes() - 1)) % nodes();
  Error error;
  error.code = ErrorCode::deadline;
  error.message = fmt::format("rank {} {}; the session is broken: close it",
                              topology().rank_on(lost, 0), loss->text);
  revocation_->revoke(error);
}

BufferControl& NodeGroup::control(std::int64_t holder, std::int64_t buffer) const {
  std::byte* const segment = segments_[static_cast<std::size_t>(holder)];
  return reinterpret_cast<BufferControl*>(segment + sizeof(Header))[buffer];
}

std::byte* NodeGroup::buffer(std::int64_t holder, std::int64_t buffer) const {
  return segments_[static_cast<std::size_t>(holder)] + header_bytes() + buffer * buffer_bytes_;
}

ranks::WakeUp& NodeGroup::wake_up(std::int64_t place) const {
  std::byte* const after_controls = segments_.front() + sizeof(Header) +
                                    static_cast<std::size_t>(buffers_) * sizeof(BufferControl);
  return reinterpret_cast<PaddedWakeUp*>(after_controls)[place].wake_up;
}

void NodeGroup::open(std::int64_t buffer, std::int64_t ticket, std::int64_t expected) const {
  BufferControl& opened = control(own_holder(), buffer);
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
  control(own_holder(), buffer).open.store(closed, std::memory_order_relaxed);
}

bool NodeGroup::mark(std::int64_t holder, std::int64_t buffer, std::int64_t ticket) const {
  BufferControl& wanted = control(holder, buffer);
  wanted.marks.fetch_or(std::uint64_t{1} << (own_place() % mark_bits), std::memory_order_seq_cst);
  return wanted.open.load(std::memory_order_seq_cst) != ticket;
}

void NodeGroup::arrive(std::int64_t holder, std::int64_t buffer, std::int64_t bytes) const {
  BufferControl& shared = control(holder, buffer);
  const std::int64_t expected = shared.expected.load(std::memory_order_relaxed);
  if (shared.arrived.fetch_add(bytes, std::memory_order_acq_rel) + bytes == expected) {
    wake_up(layout_.place_of(layout_.own_holders()[static_cast<std::size_t>(holder)])).notify();
  }
}

std::atomic<std::int64_t>& NodeGroup::failed_request() const {
  return reinterpret_cast<Header*>(segments_.front())->failed_request;
}

}  // namespace weir::aggregation
