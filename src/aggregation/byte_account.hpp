// Compares what a rank was to move in a request with what it moved, so that lost bytes are an error
// of the request and never go unnoticed.
//
//     memory ──handed──► buffers and messages ──due──► storage        moved + filled
//
// A read goes from right to left. A rank that is not an aggregator has no bytes due; with
// Strategy::direct, bytes that a rank hands over are due at once. Each rank adds up its own bytes.
// When a writing request ends, and when a step ends, the ranks add up the difference
// (agreement.hpp).
#pragma once

#include <cstdint>

#include "common/status.hpp"

namespace weir::aggregation {

struct ByteAccount {
  std::int64_t asked = 0;   // requested of this rank's memory
  std::int64_t handed = 0;  // copied between this rank's memory and buffers, messages or files
  std::int64_t due = 0;     // bytes that this rank has to move between buffers and files
  std::int64_t moved = 0;   // part of `due` that was moved to or from files
  std::int64_t filled = 0;  // part of `due` that is in no file and was read as the fill value
  std::int64_t holes = 0;   // moved in addition, because they lie between bytes that are due

  // Called after the last piece of a request of which no rank has seen a failure. Returns an error
  // if the account does not balance.
  [[nodiscard]] Status check() const;
  // Called when a writing request has ended: returns the bytes requested of this rank minus the
  // bytes that it stored for any rank. Ranks write disjoint elements, so the sum over all ranks is
  // 0.
  [[nodiscard]] std::int64_t unstored() const { return asked - moved; }
};

// Returns an error unless `unstored`, a sum over all ranks, is 0.
[[nodiscard]] Status check_all_stored(std::int64_t unstored);

// Counts what a rank's requests were to write into a file since the file's step began, and what
// they stored, for any rank. The step may be committed if the sums over all ranks are equal.
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
