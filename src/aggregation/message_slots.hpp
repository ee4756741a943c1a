// Where the ranks of a node gather what goes to aggregators of other nodes, and find what comes
// from them: slots in the memory of the node, each for one message (plan/node_messages.hpp) at a
// time.
//
//     write   each rank packs its share into the slot ─► after the last share the courier sends
//     read    the courier receives into the slot ─► each rank unpacks its share, the last frees it
//
// Any slot can take any message. The first rank that comes to a message takes a free slot for it,
// works out from the plan which rank has which share, and leaves that in the slot for the others.
// Until it has done so, the other ranks find no slot and look again later.
//
// A rank goes through its pieces one after the other, and does not go on before it has found the
// slot of its share. All ranks of a node take the pieces in the same order (plan::RankPieces). The
// number of slots is bounded. So is the number of slots with messages of one aggregator
// (plan::most_pieces_ahead), which bounds what MPI keeps for that aggregator.
//
// Slots are taken as ranks ask for them, in no order. This cannot deadlock, because the last free
// slot, and the last slot of an aggregator, may only be taken for the earliest piece: one that no
// rank of the node is still behind. Proof: let P be the earliest piece, in the node's order, for
// which a rank has not found its slot. Nothing before P holds the ranks that lack it, so they are
// at P or will come to it. If there is no slot for P, the last slot was taken for a piece M that
// was the earliest at that time, so M does not come after P. If M is P, the ranks at P find it. If
// M comes before P, all its ranks have found its slot, so its message will be complete. Its step
// and part are not later than the earliest that are incomplete, so its aggregator opens a buffer
// for it (plan/rank_pieces.hpp) and the slot becomes free. Only ranks at P may take it then.
//
// Memory: as many slots as the holders of the node have buffers, but at least
// plan::least_messages_under_way, of the size of a buffer. A node that is alone has none.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "plan/node_messages.hpp"

namespace weir::aggregation {

class MessageSlots {
 public:
  // What a slot holds, in the memory of the node.
  struct Slot;

  // How far a rank has come: the place of its next piece in the order of the node. Pieces of a
  // later request come later.
  struct Position {
    std::int64_t request = 0;
    std::uint64_t piece = 0;

    // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 takes the comparison's 0 for a pointer
    friend auto operator<=>(const Position&, const Position&) = default;
  };
  // Names a piece among those of all requests that may have a slot at the same time.
  struct Name {
    std::int64_t ticket = 0;  // at least 0
    std::int64_t aggregator = 0;
  };

  // `board` has board_bytes() bytes and lies in memory of the node; `data` has the slots' bytes.
  // One rank of the node prepares the board before the others use it.
  MessageSlots(std::byte* board, std::vector<std::byte*> data, std::int64_t slot_bytes,
               std::int64_t own_place, std::int64_t places);
  static void prepare(std::byte* board, std::int64_t slots, std::int64_t places);
  [[nodiscard]] static std::int64_t board_bytes(std::int64_t slots, std::int64_t places);

  // This rank has come to a piece, or past its last one of a request. It never goes back.
  void come_to(const Position& position) const;
  // The slot with the share that this rank has of the piece it has come to; null: come again.
  // `messages`: works out those of the node; called only where this rank has to take a slot.
  using Messages = std::function<std::vector<plan::NodeMessage>()>;
  [[nodiscard]] Slot* find(const Name& name, std::int64_t rank, const Messages& messages) const;

  // What a slot holds. Valid after the slot was found and until the share is handed over.
  [[nodiscard]] static std::int64_t courier_of(const Slot& slot);
  [[nodiscard]] static std::int64_t bytes_of(const Slot& slot);
  [[nodiscard]] static plan::NodeShare share_of(const Slot& slot, std::int64_t rank);
  // Where its message lies; null: it is longer than a slot, and the courier's alone.
  [[nodiscard]] std::byte* data(const Slot& slot) const;

  // A share has been packed or unpacked. True: so have all.
  static bool hand_over(Slot& slot, std::int64_t bytes);
  [[nodiscard]] static bool is_complete(const Slot& slot);
  // The courier says that the message has come.
  static void set_come(Slot& slot);
  [[nodiscard]] static bool has_come(const Slot& slot);
  // When it has been sent, or all shares have been unpacked.
  static void free(Slot& slot);

 private:
  struct Board;
  struct Share;

  [[nodiscard]] Slot& slot(std::size_t number) const;
  [[nodiscard]] static Share* shares(Slot& slot);
  [[nodiscard]] static const Share* shares(const Slot& slot);
  // In a message that cannot be freed meanwhile; null: none.
  [[nodiscard]] static const Share* find_share(const Slot& slot, std::int64_t rank);
  [[nodiscard]] Slot* find_without_lock(const Name& name) const;
  // A slot that this rank may take now.
  [[nodiscard]] Slot* free_slot(const Name& name) const;
  [[nodiscard]] bool is_earliest() const;
  static void fill(Slot& slot, const std::vector<plan::NodeMessage>& messages, std::int64_t rank);

  std::byte* board_;
  std::vector<std::byte*> data_;
  std::int64_t slot_bytes_;
  std::int64_t own_place_;
  std::int64_t places_;
};

}  // namespace weir::aggregation
