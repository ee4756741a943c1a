// Opens each file only once per node: the ranks of a node pass each other the files that they open.
//
// The first rank that needs a file in a request opens it, and sends the descriptor to the ranks of
// the node that also move bytes in that request. These find it in their socket when they need the
// file:
//
//   a rank that needs a file   takes it if it is in the socket; otherwise waits until no rank of
//                              the node is opening a file (or the file has arrived), checks the
//                              socket once more, opens the file, sends it, and lets the next rank
//                              open
//
// No rank waits for a rank that is not opening a file at that moment, and passing never causes an
// error: a rank that cannot be reached, or has no room, opens the file by itself. The same holds
// for a rank that opens a file again, for a rank alone on its node, and for all files opened
// outside of requests. While a rank waits for its turn, everything else keeps moving
// (ranks/progress.hpp), since the rank that opens the file may itself be in a wait of another
// session.
//
// The shared memory of the node records which rank is opening a file, and which open files a rank
// is making durable for all. Additional shared memory is passed in the same way
// (memory_sharing.hpp).
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
#include "engines/open_files.hpp"
#include "ranks/life_signs.hpp"
#include "ranks/revocation.hpp"
#include "system/descriptor_socket.hpp"
#include "system/file.hpp"

namespace weir::aggregation {

// Lies in shared memory. One rank creates it before the others use it.
struct DescriptorBoard {
  alignas(64) std::atomic<std::int32_t> opener;  // a rank's place on the node, plus 1; 0: none
  std::atomic<std::uint32_t> descriptions;       // numbers assigned so far
  // The memory that was shared last (memory_sharing.hpp): twice its number, plus 1 if sharing
  // failed.
  std::atomic<std::uint64_t> memory;
  // The entry of a description: the number of the sync for which a rank took over the work, and the
  // description.
  alignas(64) std::array<std::atomic<std::uint64_t>, 64> synced;
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "shared between processes");

class NodeDescriptors {
 public:
  // Returns whether the rank at a place on the node needs the file.
  using Needing = std::function<bool(std::int64_t place)>;

  // `board` is in memory that all ranks of the node share. `revocation` belongs to the session, and
  // `life` to the node's ranks. Neither is owned.
  NodeDescriptors(DescriptorBoard& board, NodeSockets sockets, std::int64_t own_place,
                  ranks::Revocation& revocation, ranks::LifeSigns& life, double deadline_seconds);

  // Opens files, until end_request(), for all ranks that `needing` names, which are the same on all
  // ranks.
  void begin_request(Needing needing);
  void end_request() { needing_ = nullptr; }

  // Works like storage::File::open() and returns the same errors. `file_number` is never reused;
  // each `user` has a file description of its own.
  Result<storage::File> open(const std::string& path, const storage::OpenOptions& options,
                             std::uint64_t file_number, std::int32_t user);

  // Called by all ranks of the node, in the same order, while none of them has a request under way.
  // Of the ranks that share an open file, one makes it durable.
  [[nodiscard]] storage::SyncedHere begin_sync();

  // Functions for MemorySharing. The first rank of the node passes memory and reports whether it
  // did; the others take it.
  [[nodiscard]] std::int64_t own_place() const { return own_place_; }
  [[nodiscard]] std::int64_t places() const {
    return static_cast<std::int64_t>(sockets_.addresses.size());
  }
  [[nodiscard]] std::uint64_t next_memory() { return ++memories_; }
  [[nodiscard]] storage::DescriptorSocket::Sent pass_memory(std::uint64_t number,
                                                            const storage::File& file,
                                                            std::int64_t place);
  void tell_of_memory(std::uint64_t number, bool passed);
  // Returns whether the memory was passed; nothing: not yet known.
  [[nodiscard]] std::optional<bool> memory_told(std::uint64_t number) const;
  [[nodiscard]] std::optional<storage::File> take_memory(std::uint64_t number);
  // Takes what has arrived in the socket, to make room for more.
  void collect();

  // Closes descriptors of a file that arrived and were not used. No rank may have the file open or
  // be opening it.
  void forget(std::uint64_t file);

 private:
  using Name = storage::PassedName;
  // Takes the descriptor of the file if it has arrived.
  std::optional<storage::File> take(const Name& name);
  [[nodiscard]] bool needs(std::size_t place);
  void pass(const Name& name, storage::File& file);
  [[nodiscard]] bool sync_is_mine(std::uint32_t description) const;

  DescriptorBoard& board_;
  NodeSockets sockets_;  // an empty address: that rank cannot be reached
  std::int64_t own_place_;
  ranks::Revocation& revocation_;
  ranks::LifeSigns& life_;
  double deadline_seconds_;
  Needing needing_;
  std::vector<std::optional<bool>> needs_;  // by place: results of needing_, which takes time
  std::vector<storage::PassedFile> come_;   // arrived, and not used yet
  std::set<Name> opened_;                   // files that were opened at least once
  std::uint32_t syncings_ = 0;
  // Larger than all numbers of memory that was shared while the session was opened
  // (node_memory.hpp).
  std::uint64_t memories_ = std::uint64_t{1} << 32U;
};

}  // namespace weir::aggregation
