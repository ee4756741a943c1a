// Where the tables of all ranks' regions lie (array/box_table.hpp), once on each node: memory that
// the node's ranks share, in places for one table each. A place is taken again when no rank of the
// node has its table any more, so regions that change in each call take no new memory.
//
//   all      have the place that comes next; where there is none, or it is too short, they share
//            more memory first (memory_sharing.hpp) and add() it
//   each     sets its own region there
//   first    when all have: makes the table of it, and hand_out()
//   all      when they see that: take()
//
// The first rank finds the place that comes next, when it hands one out.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "storage/engines/shared_memory.hpp"

namespace weir::aggregation {

class RegionTables {
 public:
  // The size of memory for tables of `table_bytes`.
  [[nodiscard]] static std::int64_t memory_bytes(std::int64_t table_bytes);

  // Whether there is a place for a table of so many bytes.
  [[nodiscard]] bool has_place_for(std::int64_t table_bytes) const;
  // Adds memory for more tables, the same on all ranks of the node.
  void add(std::shared_ptr<storage::SharedMemory> memory, std::int64_t table_bytes);
  // By all ranks of the node, where one did not get the memory that they shared: what this rank
  // `added` last goes, and the next table wants memory again.
  void take_back(bool added);

  // The place that comes next, as long as the result is kept.
  [[nodiscard]] std::shared_ptr<std::byte> next() const;
  // By the first rank of the node, which has `ranks` of them.
  void hand_out(std::int64_t ranks);
  // The table that was handed out. This rank has it until the result is gone.
  [[nodiscard]] std::shared_ptr<std::byte> take();

 private:
  static constexpr std::int64_t places_at_once = 4;
  static constexpr std::int64_t none = -1;
  struct Header {
    std::atomic<std::int64_t> next;                               // place; used in the first memory
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
