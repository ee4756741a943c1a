// One open() per node: the ranks of a node pass each other the files that they open.
//
// The rank that needs a file first in a request opens it and sends the descriptor to those of the
// node that move bytes in that request too; they find it in their socket when they come to need it:
//
//   whoever needs a file   in the socket? ─► takes it
//                          else waits until nobody of the node opens one (or it has come), looks
//                          once more, opens, sends, lets the next one
//
// Nobody waits for a rank that is not opening a file at that moment, and no error comes from
// passing: a rank that cannot be reached, or has no room, opens the file by itself. So does one
// that opens a file again, one alone on its node, and all outside of requests. While a rank waits
// for its turn, everything else keeps moving (ranks/progress.hpp): the rank that opens the file may
// itself be in a wait of another session.
//
// The memory that the node shares holds who is opening, and which open file somebody is making
// durable for all. More such memory is passed the same way (memory_sharing.hpp).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "aggregation/node_memory.hpp"
#include "ranks/life_signs.hpp"
#include "ranks/revocation.hpp"
#include "storage/engines/descriptor_socket.hpp"
#include "storage/engines/descriptor_source.hpp"
#include "storage/open_files.hpp"

namespace weir::aggregation {

// In shared memory. Made by one rank before the others look.
struct DescriptorBoard {
  alignas(64) std::atomic<std::int32_t> opener;  // a rank's place on the node, plus 1; 0: nobody
  std::atomic<std::uint32_t> descriptions;       // numbers given so far
  // The memory that was shared last (memory_sharing.hpp): twice its number, plus 1 where that
  // failed.
  std::atomic<std::uint64_t> memory;
  // By description: the syncing in which a rank took it on itself, and the description.
  alignas(64) std::array<std::atomic<std::uint64_t>, 64> synced;
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "shared between processes");

class NodeDescriptors final : public storage::DescriptorSource {
 public:
  // Says whether the rank at a place on the node needs the file.
  using Needing = std::function<bool(std::int64_t place)>;

  // `board`: in memory that all ranks of the node share. `revocation`: of the session; `life`: of
  // the node's ranks. Neither is owned.
  NodeDescriptors(DescriptorBoard& board, NodeSockets sockets, std::int64_t own_place,
                  ranks::Revocation& revocation, ranks::LifeSigns& life, double deadline_seconds);

  // Until end_request() files are opened for all that `needing` names; it names the same on all.
  void begin_request(Needing needing);
  void end_request() { needing_ = nullptr; }

  Result<storage::File> open(const std::string& path, const storage::OpenOptions& options,
                             const storage::SharedOpening& shared) override;

  // Called by all ranks of the node, in one order, where none of them has a request under way: one
  // of those that share an open file makes it durable.
  [[nodiscard]] storage::SyncedHere begin_sync();

  // For MemorySharing. The first rank of the node passes memory, and tells that it has passed it or
  // why not; the others take it.
  [[nodiscard]] std::int64_t own_place() const { return own_place_; }
  [[nodiscard]] std::int64_t places() const {
    return static_cast<std::int64_t>(sockets_.addresses.size());
  }
  [[nodiscard]] std::uint64_t next_memory() { return ++memories_; }
  [[nodiscard]] storage::DescriptorSocket::Sent pass_memory(std::uint64_t number,
                                                            const storage::File& file,
                                                            std::int64_t place);
  void tell_of_memory(std::uint64_t number, bool passed);
  // Whether it was passed; nothing: not yet.
  [[nodiscard]] std::optional<bool> memory_told(std::uint64_t number) const;
  [[nodiscard]] std::optional<storage::File> take_memory(std::uint64_t number);
  // Takes what has come from the socket, so that there is room for more.
  void collect();

  // No rank has this file open or is opening it: what has come of it unasked is closed.
  void forget(std::uint64_t file);

 private:
  using Name = storage::PassedName;
  // Takes the descriptor of the file if it has come.
  std::optional<storage::File> take(const Name& name);
  [[nodiscard]] bool needs(std::size_t place);
  void pass(const Name& name, storage::File& file);
  [[nodiscard]] bool sync_is_mine(std::uint32_t description) const;

  DescriptorBoard& board_;
  NodeSockets sockets_;  // addresses of no bytes: these ranks cannot be reached
  std::int64_t own_place_;
  ranks::Revocation& revocation_;
  ranks::LifeSigns& life_;
  double deadline_seconds_;
  Needing needing_;
  std::vector<std::optional<bool>> needs_;  // by place, as needing_ said; asking takes time
  std::vector<storage::PassedFile> come_;   // not asked for yet
  std::set<Name> opened_;                   // once already
  std::uint32_t syncings_ = 0;
  // Above all numbers that memory had while the session was opened (node_memory.hpp).
  std::uint64_t memories_ = std::uint64_t{1} << 32U;
};

}  // namespace weir::aggregation
