// A weighted mix of operations: it selects the next operation and its item. Pure. No memory grows
// with the number of items.
//
// A rank has as many places for files, and for directories, as it has items. The existing items are
// a window that moves cyclically over the places: an item is created at its front, and the oldest
// is removed from its back. An operation that is impossible (no item exists, or no place is free)
// is not drawn.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "common/status.hpp"
#include "workloads/metadata/action.hpp"

namespace weir::bench::metadata {

struct MixPart {
  Action action = Action::stat;
  std::int64_t weight = 1;
};

// Parses "create=30,stat=50,unlink=20". The weights need no particular sum.
[[nodiscard]] Result<std::vector<MixPart>> mix_of(std::string_view text);

// The occupied places of one kind.
struct Window {
  std::int64_t capacity = 0;
  std::int64_t first = 0;  // place of the oldest item, 0 ≤ first < capacity
  std::int64_t count = 0;

  // Returns the place `steps` after that of the oldest item.
  [[nodiscard]] std::int64_t place(std::int64_t steps) const { return (first + steps) % capacity; }
  [[nodiscard]] bool holds(std::int64_t place) const {
    return (place - first + capacity) % capacity < count;
  }
};

// The operations on one rank's items, in their order.
class MixSequence {
 public:
  // `capacity` is the number of items of the rank. `key` determines what is drawn.
  MixSequence(const std::vector<MixPart>& parts, std::int64_t capacity, std::uint64_t key);

  struct Operation {
    std::size_t part = 0;  // index of the parts
    std::int64_t place = 0;
  };
  // Returns the next operation and advances the windows past it. Returns nothing if no operation is
  // possible.
  [[nodiscard]] std::optional<Operation> next();

  // Returns the items that must exist first or, later, those that exist. Of a kind that the mix
  // both creates and uses, half of the places are occupied at first.
  [[nodiscard]] const Window& of(Subject subject) const {
    return subject == Subject::directory ? directories_ : files_;
  }

 private:
  [[nodiscard]] bool possible(const MixPart& part) const;

  const std::vector<MixPart>& parts_;
  std::uint64_t key_;
  std::uint64_t drawn_ = 0;
  Window files_;
  Window directories_;
};

}  // namespace weir::bench::metadata
