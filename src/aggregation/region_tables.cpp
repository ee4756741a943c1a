#include "aggregation/region_tables.hpp"

#include <utility>

#include "common/cache_line.hpp"

namespace weir::aggregation {

std::int64_t RegionTables::rounded(std::int64_t table_bytes) {
  constexpr auto line = static_cast<std::int64_t>(cache_line_bytes);
  return (table_bytes + line - 1) / line * line;
}

std::int64_t RegionTables::memory_bytes(std::int64_t table_bytes) {
  return rounded(sizeof(Header)) + places_at_once * rounded(table_bytes);
}

bool RegionTables::has_place_for(std::int64_t table_bytes) const {
  return next_ != none && table_bytes <= room_of(next_).table_bytes;
}

void RegionTables::add(std::shared_ptr<storage::SharedMemory> memory, std::int64_t table_bytes) {
  static_assert(std::atomic<std::int64_t>::is_always_lock_free, "shared between processes");
  rooms_.push_back({std::move(memory), table_bytes});
  next_ = (std::ssize(rooms_) - 1) * places_at_once;
}

void RegionTables::take_back(bool added) {
  if (added) rooms_.pop_back();
  next_ = none;
}

std::byte* RegionTables::at(std::int64_t place) const {
  const Room& room = room_of(place);
  return room.memory->data() + rounded(sizeof(Header)) +
         place % places_at_once * rounded(room.table_bytes);
}

std::shared_ptr<std::byte> RegionTables::next() const { return {room_of(next_).memory, at(next_)}; }

void RegionTables::hand_out(std::int64_t ranks) {
  users_of(next_).store(ranks, std::memory_order_relaxed);
  std::int64_t free = none;
  for (std::int64_t place = 0; place < std::ssize(rooms_) * places_at_once; ++place) {
    // The longest free place is used, since tables of arrays with more dimensions are longer.
    if (users_of(place).load(std::memory_order_acquire) == 0 &&
        (free == none || room_of(place).table_bytes > room_of(free).table_bytes)) {
      free = place;
    }
  }
  rooms_.front().header().next.store(free, std::memory_order_relaxed);
}

std::shared_ptr<std::byte> RegionTables::take() {
  const std::int64_t place =
      std::exchange(next_, rooms_.front().header().next.load(std::memory_order_relaxed));
  // The captured pointer keeps the memory alive.
  const auto give_back = [memory = room_of(place).memory, users = &users_of(place)](std::byte*) {
    users->fetch_sub(1, std::memory_order_release);
  };
  return {at(place), give_back};
}

}  // namespace weir::aggregation
