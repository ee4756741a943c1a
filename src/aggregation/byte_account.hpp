// What a rank was asked to move in a request and what it moved, so that bytes that went nowhere are
// an error of the request and never a success.
//
//     memory ──handed──► buffers and messages ──due──► storage        moved + filled
//
// Reading goes from right to left. A rank that aggregates nothing has no bytes due; under
// Strategy::direct what a rank hands over is due at once. Ranks add up their own bytes only: that
// each buffer waits for exactly the bytes that are handed into it makes the sums of all ranks
// agree.
#pragma once

#include <cstdint>

#include "common/status.hpp"

namespace weir::aggregation {

struct ByteAccount {
  std::int64_t asked = 0;   // of this rank's memory
  std::int64_t handed = 0;  // copied between this rank's memory and buffers, messages or files
  std::int64_t due = 0;     // that this rank has to move between buffers and files
  std::int64_t moved = 0;   // of those, to or from files
  std::int64_t filled = 0;  // of those, read and in no file: the fill value
  std::int64_t holes = 0;   // moved besides, because they lie between those that are due

  // After the last piece of a request that no rank has seen fail: an error where the account does
  // not balance.
  [[nodiscard]] Status check() const;
};

}  // namespace weir::aggregation
