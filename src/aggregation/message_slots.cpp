#include "aggregation/message_slots.hpp"

#include <algorithm>
#include <iterator>
#include <new>
#include <utility>

#include "common/cache_line.hpp"
#include "plan/rank_pieces.hpp"

namespace weir::aggregation {
namespace {

constexpr std::int64_t nobody = -1;  // the ticket of a free slot

std::size_t round_to_lines(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

// Written by one rank and read by others. Both parts increase with each move, unless only the
// second one is reset because the first one increases. Since they are written and read in the
// orders of come_to() and is_earliest(), a position that is read while it changes is never later
// than the true one.
struct alignas(cache_line_bytes) PublishedPosition {
  std::atomic<std::int64_t> request;
  std::atomic<std::uint64_t> piece;
};

}  // namespace

struct MessageSlots::Share {
  std::int64_t rank;
  std::int64_t bytes;
  std::int64_t offset;
};

// The shares follow in memory.
struct MessageSlots::Slot {
  enum : int { taken, filled, come };

  alignas(cache_line_bytes) std::atomic<std::int64_t> ticket;  // `nobody`: the slot is free
  std::atomic<std::int64_t> aggregator;
  std::atomic<std::uint64_t> piece;  // its position in the order of the node
  std::atomic<int> state;
  // The fields below describe the message, and are valid from `filled` on.
  std::atomic<std::int64_t> messages;  // number of messages of the node for the piece
  std::int64_t number;                 // number of the slot
  std::int64_t bytes;
  std::int64_t courier;
  std::int64_t count;                                               // number of shares
  alignas(cache_line_bytes) std::atomic<std::int64_t> handed_over;  // bytes
};

// The positions of the ranks follow in memory, and then the slots.
struct MessageSlots::Board {
  alignas(cache_line_bytes) std::atomic<bool> locked;  // while a rank looks for a slot and takes it
};

namespace {

template <typename Thing>
Thing* at(std::byte* place) {
  return reinterpret_cast<Thing*>(place);
}

}  // namespace

MessageSlots::MessageSlots(std::byte* board, std::vector<std::byte*> data, std::int64_t slot_bytes,
                           std::int64_t own_place, std::int64_t places)
    : board_(board),
      data_(std::move(data)),
      slot_bytes_(slot_bytes),
      own_place_(own_place),
      places_(places) {}

std::int64_t MessageSlots::board_bytes(std::int64_t slots, std::int64_t places) {
  const auto each = static_cast<std::int64_t>(
      sizeof(Slot) + round_to_lines(sizeof(Share) * static_cast<std::size_t>(places)));
  return static_cast<std::int64_t>(sizeof(Board)) +
         places * static_cast<std::int64_t>(sizeof(PublishedPosition)) + slots * each;
}

void MessageSlots::prepare(std::byte* board, std::int64_t slots, std::int64_t places) {
  new (board) Board{};
  const MessageSlots made(board, {}, 0, 0, places);
  for (std::int64_t place = 0; place < places; ++place) {
    new (at<PublishedPosition>(board + sizeof(Board)) + place) PublishedPosition{};
  }
  for (std::int64_t number = 0; number < slots; ++number) {
    Slot* const slot = new (&made.slot(static_cast<std::size_t>(number))) Slot{};
    slot->number = number;
    slot->ticket.store(nobody, std::memory_order_relaxed);
  }
}

MessageSlots::Slot& MessageSlots::slot(std::size_t number) const {
  const auto places = static_cast<std::size_t>(places_);
  const std::size_t each = sizeof(Slot) + round_to_lines(sizeof(Share) * places);
  return *at<Slot>(board_ + sizeof(Board) + places * sizeof(PublishedPosition) + number * each);
}

MessageSlots::Share* MessageSlots::shares(Slot& slot) {
  return at<Share>(reinterpret_cast<std::byte*>(&slot) + sizeof(Slot));
}

const MessageSlots::Share* MessageSlots::shares(const Slot& slot) {
  return reinterpret_cast<const Share*>(reinterpret_cast<const std::byte*>(&slot) + sizeof(Slot));
}

void MessageSlots::come_to(const Position& position) const {
  PublishedPosition& own = at<PublishedPosition>(board_ + sizeof(Board))[own_place_];
  if (own.request.load(std::memory_order_relaxed) != position.request) {
    own.piece.store(0, std::memory_order_relaxed);
    own.request.store(position.request, std::memory_order_release);
  }
  own.piece.store(position.piece, std::memory_order_release);
}

MessageSlots::Position MessageSlots::position_of(std::int64_t place) const {
  const PublishedPosition& published = at<PublishedPosition>(board_ + sizeof(Board))[place];
  Position found;
  found.request = published.request.load(std::memory_order_acquire);
  found.piece = published.piece.load(std::memory_order_acquire);
  return found;
}

bool MessageSlots::is_earliest() const {
  const Position own = position_of(own_place_);
  for (std::int64_t place = 0; place < places_; ++place) {
    if (position_of(place) < own) return false;
  }
  return true;
}

bool MessageSlots::leaves_enough(std::int64_t free_slots) const {
  if (places_ <= free_slots) return true;
  const Position own = position_of(own_place_);
  std::int64_t absent = 0;  // ranks that have not come to the request
  std::vector<std::uint64_t> earlier;
  for (std::int64_t place = 0; place < places_; ++place) {
    const Position other = position_of(place);
    if (other.request < own.request) {
      if (++absent >= free_slots) return false;
    } else if (other < own) {
      earlier.push_back(other.piece);
    }
  }
  std::sort(earlier.begin(), earlier.end());
  earlier.erase(std::unique(earlier.begin(), earlier.end()), earlier.end());
  for (std::size_t number = 0; number < data_.size(); ++number) {
    const Slot& looked_at = slot(number);
    if (looked_at.ticket.load(std::memory_order_acquire) == nobody) continue;
    std::erase(earlier, looked_at.piece.load(std::memory_order_relaxed));
  }
  return absent + std::ssize(earlier) < free_slots;
}

const MessageSlots::Share* MessageSlots::find_share(const Slot& slot, std::int64_t rank) {
  const Share* const begin = shares(slot);
  const Share* const end = begin + slot.count;
  const Share* const found =
      std::lower_bound(begin, end, rank,
                       [](const Share& share, std::int64_t wanted) { return share.rank < wanted; });
  return found != end && found->rank == rank ? found : nullptr;
}

// If the node has one message of the piece, this rank's share is in it, so the slot stays filled.
MessageSlots::Slot* MessageSlots::find_without_lock(const Name& name) const {
  for (std::size_t number = 0; number < data_.size(); ++number) {
    // The search begins at a different slot for each piece, as in free_slot().
    Slot& looked_at =
        slot((static_cast<std::size_t>(name.ticket + name.aggregator) + number) % data_.size());
    if (looked_at.ticket.load(std::memory_order_acquire) != name.ticket) continue;
    if (looked_at.aggregator.load(std::memory_order_relaxed) != name.aggregator) continue;
    if (looked_at.state.load(std::memory_order_acquire) == Slot::taken) return nullptr;
    if (looked_at.messages.load(std::memory_order_acquire) != 1) return nullptr;
    // Another message of this piece may have been in the slot, and the slot may have been reused
    // since.
    return looked_at.ticket.load(std::memory_order_acquire) == name.ticket ? &looked_at : nullptr;
  }
  return nullptr;
}

MessageSlots::Slot* MessageSlots::free_slot(const Name& name, std::int64_t at_once) const {
  Slot* found = nullptr;
  std::int64_t free_slots = 0;
  std::int64_t of_aggregator = 0;
  for (std::size_t number = data_.size(); number-- > 0;) {
    Slot& looked_at =
        slot((static_cast<std::size_t>(name.ticket + name.aggregator) + number) % data_.size());
    if (looked_at.ticket.load(std::memory_order_acquire) == nobody) {
      found = &looked_at;
      ++free_slots;
    } else if (looked_at.aggregator.load(std::memory_order_relaxed) == name.aggregator) {
      ++of_aggregator;
    }
  }
  const std::int64_t left = plan::most_pieces_ahead - of_aggregator;
  free_slots -= std::max<std::int64_t>(0, std::ssize(data_) - at_once);
  if (free_slots <= 0 || left <= 0) return nullptr;
  const bool is_last = free_slots == 1 || left == 1;
  return (is_last ? is_earliest() : leaves_enough(free_slots)) ? found : nullptr;
}

MessageSlots::Slot* MessageSlots::find(const Name& name, std::int64_t rank, std::int64_t at_once,
                                       const Messages& messages) const {
  if (Slot* const found = find_without_lock(name)) return found;
  // No rank waits for the lock, since its owner could be stopped or killed.
  std::atomic<bool>& locked = at<Board>(board_)->locked;
  // The lock is read before it is written, so that ranks that try again do not take its cache line.
  if (locked.load(std::memory_order_relaxed) || locked.exchange(true, std::memory_order_acquire)) {
    return nullptr;
  }
  Slot* found = nullptr;
  bool others_take_one = false;
  for (std::size_t number = 0; number < data_.size() && found == nullptr; ++number) {
    Slot& looked_at = slot(number);
    if (looked_at.ticket.load(std::memory_order_acquire) != name.ticket ||
        looked_at.aggregator.load(std::memory_order_relaxed) != name.aggregator) {
      continue;
    }
    if (looked_at.state.load(std::memory_order_acquire) == Slot::taken) {
      others_take_one = true;
      break;
    }
    // The slot may become free meanwhile, but is not filled again before the lock is released.
    if (find_share(looked_at, rank) != nullptr) found = &looked_at;
  }
  Slot* taken = nullptr;
  if (found == nullptr && !others_take_one) taken = free_slot(name, at_once);
  if (taken != nullptr) {
    taken->state.store(Slot::taken, std::memory_order_relaxed);
    taken->aggregator.store(name.aggregator, std::memory_order_relaxed);
    taken->piece.store(position_of(own_place_).piece, std::memory_order_relaxed);
    taken->ticket.store(name.ticket, std::memory_order_release);
  }
  locked.store(false, std::memory_order_release);
  if (taken == nullptr) return found;
  fill(*taken, messages(), rank);
  return taken;
}

void MessageSlots::fill(Slot& slot, const std::vector<plan::NodeMessage>& messages,
                        std::int64_t rank) {
  const auto own = std::find_if(
      messages.begin(), messages.end(),
      [&](const plan::NodeMessage& message) { return message.share_of(rank) != nullptr; });
  slot.bytes = own->bytes;
  slot.courier = own->courier;
  slot.count = 0;
  for (const plan::NodeShare& share : own->shares) {
    shares(slot)[slot.count++] = {share.rank, share.bytes, share.offset};
  }
  slot.handed_over.store(0, std::memory_order_relaxed);
  slot.messages.store(static_cast<std::int64_t>(messages.size()), std::memory_order_relaxed);
  slot.state.store(Slot::filled, std::memory_order_release);
}

std::int64_t MessageSlots::courier_of(const Slot& slot) { return slot.courier; }

std::int64_t MessageSlots::bytes_of(const Slot& slot) { return slot.bytes; }

plan::NodeShare MessageSlots::share_of(const Slot& slot, std::int64_t rank) {
  const Share* const share = find_share(slot, rank);
  return {rank, share->bytes, share->offset};
}

std::byte* MessageSlots::data(const Slot& slot) const {
  return slot.bytes <= slot_bytes_ ? data_[static_cast<std::size_t>(slot.number)] : nullptr;
}

bool MessageSlots::hand_over(Slot& slot, std::int64_t bytes) {
  const std::int64_t all = slot.bytes;
  return slot.handed_over.fetch_add(bytes, std::memory_order_acq_rel) + bytes == all;
}

bool MessageSlots::is_complete(const Slot& slot) {
  return slot.handed_over.load(std::memory_order_acquire) == slot.bytes;
}

void MessageSlots::set_come(Slot& slot) { slot.state.store(Slot::come, std::memory_order_release); }

bool MessageSlots::has_come(const Slot& slot) {
  return slot.state.load(std::memory_order_acquire) == Slot::come;
}

void MessageSlots::free(Slot& slot) { slot.ticket.store(nobody, std::memory_order_release); }

}  // namespace weir::aggregation
