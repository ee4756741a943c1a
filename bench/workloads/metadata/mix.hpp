// A weighted mix of operations: which comes next, and on which item. Pure; nothing here grows with
// the number of items.
//
// A rank has as many places for files, and for directories, as it has items. Those that exist are a
// window that moves round over the places: an item is made at its front, and the oldest is removed
// from its back. An operation that cannot be (nothing is there, or no place is free) is not drawn.
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

// "create=30,stat=50,unlink=20"; the weights need no particular sum.
[[nodiscard]] Result<std::vector<MixPart>> mix_of(std::string_view text);

// The places of one kind that are taken.
struct Window {
  std::int64_t capacity = 0;
  std::int64_t first = 0;  // the oldest's place, 0 ≤ first < capacity
  std::int64_t count = 0;

  // The place `steps` after the oldest's.
  [[nodiscard]] std::int64_t place(std::int64_t steps) const { return (first + steps) % capacity; }
  [[nodiscard]] bool holds(std::int64_t place) const {
    return (place - first + capacity) % capacity < count;
  }
};

// The operations of one rank's items, in their order.
class MixSequence {
 public:
  // `capacity`: the items of the rank. `key`: of what is drawn.
  MixSequence(const std::vector<MixPart>& parts, std::int64_t capacity, std::uint64_t key);

  struct Operation {
    std::size_t part = 0;  // index of the parts
    std::int64_t place = 0;
  };
  // The next operation, as done: the windows are those after it. Nothing where none can be.
  [[nodiscard]] std::optional<Operation> next();

  // What must be there first; later, what is. Of what the mix makes and also uses, half.
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
