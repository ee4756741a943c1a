// Slots in the memory of a node, in which the ranks of the node gather data for aggregators on
// other nodes and find data from them. A slot holds one message (plan/node_messages.hpp) at a time.
//
//     write   each rank packs its share into the slot ─► after the last share the courier sends
//     read    the courier receives into the slot ─► each rank unpacks its share, the last frees it
//
// Any slot can hold any message. The first rank that reaches a message takes a free slot for it,
// computes from the plan which rank has which share, and stores that in the slot for the others.
// Until then, the other ranks find no slot and look again later.
//
// A rank processes its pieces one after the other, and continues only after it has found the slot
// of its share. All ranks of a node process the pieces in the same order (plan::RankPieces). The
// number of slots is bounded. So is the number of slots with messages of one aggregator
// (plan::most_pieces_ahead), which bounds the data that MPI keeps for that aggregator.
//
// Slots are taken as ranks ask for them, but each piece leaves as many free slots as there are
// earlier pieces without one. (Aggregators receive and write in the order of pieces. Messages of
// later pieces would wait in slots for buffers, while those that aggregators wait for have none.) A
// rank that has not come to the request yet counts as an earlier piece.
//
// This cannot deadlock, because the last free slot, and the last slot of an aggregator, may only be
// taken for the earliest piece, which waits for no other: a piece that every rank of the node has
// reached or passed. Proof: let P be the earliest piece, in the node's
// order, for which a rank has not found its slot. No earlier piece holds back the ranks that lack
// the slot, so they are at P or will reach it. If there is no slot for P, the last slot was taken
// for a piece M that was the earliest at that time, so M does not come after P. If M is P, the
// ranks at P find it. If M comes before P, all its ranks have found its slot, so its message will
// be complete. Its step and part are not later than the earliest incomplete ones, so its aggregator
// opens a buffer for it (plan/rank_pieces.hpp) and the slot becomes free. Only ranks at P may then
// take it.
//
// Memory: there are as many slots as the holders of the node have buffers, but at least
// plan::least_messages_under_way, each of the size of a buffer. If there is only one node, it has
// none. A request uses only so many of them at a time as its plan has messages at once
// (plan::messages_at_once); no other request moves bytes meanwhile.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "plan/node_messages.hpp"

namespace weir::aggregation {

class MessageSlots {
 public:
  // The state of a slot, in the memory of the node.
  struct Slot;

  // The piece of a rank that has passed its last one of a request.
  static constexpr std::uint64_t no_piece_left = std::numeric_limits<std::uint64_t>::max();

  // The progress of a rank: the position of its next piece in the order of the node. Pieces of a
  // later request have a later position.
  struct Position {
    std::int64_t request = 0;
    std::uint64_t piece = 0;

    // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 takes the comparison's 0 for a pointer
    friend auto operator<=>(const Position&, const Position&) = default;
  };
  // Identifies a piece among the pieces of all requests that may have slots at the same time.
  struct Name {
    std::int64_t ticket = 0;  // at least 0
    std::int64_t aggregator = 0;
  };

  // `board` has board_bytes() bytes and is in the memory of the node; `data` contains the memory of
  // each slot. One rank of the node calls prepare() before the others use the board.
  MessageSlots(std::byte* board, std::vector<std::byte*> data, std::int64_t slot_bytes,
               std::int64_t own_place, std::int64_t places);
  static void prepare(std::byte* board, std::int64_t slots, std::int64_t places);
  [[nodiscard]] static std::int64_t board_bytes(std::int64_t slots, std::int64_t places);

  // Declares that this rank has reached a piece, or passed its last piece of a request. A rank
  // never goes back.
  void come_to(const Position& position) const;
  // Returns the slot with this rank's share of the piece that it has reached; null: call again
  // later. `at_once` is how many slots the request uses at a time, at least 1 and equal on all
  // ranks of the node. `messages` computes the messages of the node; it is called only if this rank
  // has to take a slot.
  using Messages = std::function<std::vector<plan::NodeMessage>()>;
  [[nodiscard]] Slot* find(const Name& name, std::int64_t rank, std::int64_t at_once,
                           const Messages& messages) const;

  // Properties of the message in a slot, valid after the slot was found and until the share is
  // handed over.
  [[nodiscard]] static std::int64_t courier_of(const Slot& slot);
  [[nodiscard]] static std::int64_t bytes_of(const Slot& slot);
  [[nodiscard]] static plan::NodeShare share_of(const Slot& slot, std::int64_t rank);
  // Returns the memory of the slot's message; null if the message is longer than a slot, so that it
  // belongs to the courier alone.
  [[nodiscard]] std::byte* data(const Slot& slot) const;

  // Declares that a share has been packed or unpacked. Returns true if all shares have been.
  static bool hand_over(Slot& slot, std::int64_t bytes);
  [[nodiscard]] static bool is_complete(const Slot& slot);
  // Called by the courier: declares that the message has arrived.
  static void set_come(Slot& slot);
  [[nodiscard]] static bool has_come(const Slot& slot);
  // Called after the message has been sent, or all shares have been unpacked.
  static void free(Slot& slot);

 private:
  struct Board;
  struct Share;

  [[nodiscard]] Slot& slot(std::size_t number) const;
  [[nodiscard]] static Share* shares(Slot& slot);
  [[nodiscard]] static const Share* shares(const Slot& slot);
  // Returns a share of a message that cannot be freed meanwhile; null if there is none.
  [[nodiscard]] static const Share* find_share(const Slot& slot, std::int64_t rank);
  [[nodiscard]] Slot* find_without_lock(const Name& name) const;
  // Returns a slot that this rank may take now.
  [[nodiscard]] Slot* free_slot(const Name& name, std::int64_t at_once) const;
  [[nodiscard]] Position position_of(std::int64_t place) const;
  [[nodiscard]] bool is_earliest() const;
  // Returns whether a slot for this rank's piece leaves one of the free slots for each earlier
  // piece that has none.
  [[nodiscard]] bool leaves_enough(std::int64_t free_slots) const;
  static void fill(Slot& slot, const std::vector<plan::NodeMessage>& messages, std::int64_t rank);

  std::byte* board_;
  std::vector<std::byte*> data_;
  std::int64_t slot_bytes_;
  std::int64_t own_place_;
  std::int64_t places_;
};

}  // namespace weir::aggregation
