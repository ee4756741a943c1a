// What a rank was asked to move in a request and what it moved, so that bytes that went nowhere are
// an error of the request and never a success.
//
//     memory ──handed──► buffers and messages ──due──► storage        moved + filled
//
// Reading goes from right to left. A rank that aggregates nothing has no bytes due; under
// Strategy::direct what a rank hands over is due at once. Each rank adds up its own bytes; when a
// request that writes ends, and when a step does, the ranks add up what is left over
// (agreement.hpp).
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
  // When a request that writes has ended: the bytes that this rank was asked for less those that it
  // stored for any rank. Ranks write disjoint elements, so the sum over all ranks is 0.
  [[nodiscard]] std::int64_t unstored() const { return asked - moved; }
};

// An error unless `unstored`, a sum over all ranks, is 0.
[[nodiscard]] Status check_all_stored(std::int64_t unstored);

// What a rank's requests were asked to write into a file since the file's step began, and what they
// stored, for any rank. The step may be committed when the sums over all ranks are equal.
class StepAccount {
 public:
  void begin_step() { *this = {}; }
  void ask(std::int64_t bytes) { asked_ += bytes; }
  void store(std::int64_t bytes) { stored_ += bytes; }
  [[nodiscard]] std::int64_t unstored() const { return asked_ - stored_; }

 private:
  std::int64_t asked_ = 0;
  std::int64_t stored_ = 0;
};

}  // namespace weir::aggregation
