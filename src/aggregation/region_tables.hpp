// Places for the tables of all ranks' regions (array/box_table.hpp), once per node: memory that the
// node's ranks share, in which each place holds one table. A place is used again when no rank of
// the node uses its table any more, so regions that change in each call need no new memory.
//
//   all     have the next place; if there is none, or it is too short, they first share more memory
//           (memory_sharing.hpp) and add() it
//   each    sets its own region there
//   first   after all ranks have done so, creates the table and calls hand_out()
//   all     call take() when they see that
//
// When the first rank hands out a place, it also determines the next one.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "system/shared_memory.hpp"

namespace weir::aggregation {

class RegionTables {
 public:
  // Returns the size of the memory for tables of `table_bytes` bytes.
  [[nodiscard]] static std::int64_t memory_bytes(std::int64_t table_bytes);

  // Returns whether there is a place for a table of `table_bytes` bytes.
  [[nodiscard]] bool has_place_for(std::int64_t table_bytes) const;
  // Adds memory for more tables, the same on all ranks of the node.
  void add(std::shared_ptr<storage::SharedMemory> memory, std::int64_t table_bytes);
  // Called by all ranks of the node if one of them did not get the shared memory: removes what this
  // rank `added` last, so that the next table needs memory again.
  void take_back(bool added);

  // Returns the next place, which stays valid while the result exists.
  [[nodiscard]] std::shared_ptr<std::byte> next() const;
  // Called by the first rank of the node, which has `ranks` ranks.
  void hand_out(std::int64_t ranks);
  // Returns the table that was handed out. This rank counts as its user until the result is
  // destroyed.
  [[nodiscard]] std::shared_ptr<std::byte> take();

 private:
  static constexpr std::int64_t places_at_once = 4;
  static constexpr std::int64_t none = -1;
  struct Header {
    std::atomic<std::int64_t> next;  // next place; used only in the first memory
    std::array<std::atomic<std::int64_t>, places_at_once> users;  // ranks that have the table
  };
  struct Room {
    std::shared_ptr<storage::SharedMemory> memory;
    std::int64_t table_bytes = 0;

    [[nodiscard]] Header& header() const { return *reinterpret_cast<Header*>(memory->data()); }
  };
  [[nodiscard]] static std::int64_t rounded(std::int64_t table_bytes);
  [[nodiscard]] const Room& room_of(std::int64_t place) const {
    return rooms_[static_cast<std::size_t>(place / places_at_once)];
  }
  [[nodiscard]] std::byte* at(std::int64_t place) const;
  [[nodiscard]] std::atomic<std::int64_t>& users_of(std::int64_t place) const {
    return room_of(place).header().users.at(static_cast<std::size_t>(place % places_at_once));
  }

  std::vector<Room> rooms_;
  std::int64_t next_ = none;
};

}  // namespace weir::aggregation
