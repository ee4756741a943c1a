// The ranks tell each other whether a call may begin, or how it ended.
//
// 1. One round of the channel finds the lowest rank that failed, whether the fingerprints of all
//    ranks agree, and whether as many bytes were stored as all ranks together were asked to write.
// 2. Only when a rank failed: it broadcasts its error, and all ranks return that.
// Neither waits by itself, so that a request can be tested and a missing rank is noticed.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "aggregation/call_fingerprint.hpp"
#include "common/status.hpp"
#include "ranks/channel.hpp"
#include "ranks/error_message.hpp"
#include "ranks/messages.hpp"

namespace weir::aggregation {

class Agreement {
 public:
  // One at a time per channel. Ends before the channel and the communicator do, which is of the
  // same ranks.
  // `asks`: rank 0 is asked (channel.hpp). `unstored`: the bytes that this rank was asked to write
  // less those that it stored for any rank. Where the sum over all ranks is not 0, bytes went
  // astray, and the outcome is an error.
  void start(ranks::Channel& channel, MPI_Comm communicator, const Status& mine,
             const CallFingerprint& fingerprint, bool asks = false, std::int64_t unstored = 0);
  // True when the ranks have agreed; outcome() is then the same on every rank. It stays false when
  // the session is revoked, which who waits has to look at (Channel::revocation).
  [[nodiscard]] bool test();
  // After test() was false: until it is worth another look, some milliseconds at most; keeps
  // everything else moving.
  void nap();
  [[nodiscard]] const Status& outcome() const { return outcome_; }
  // Asked, when the outcome is good.
  [[nodiscard]] const ranks::Channel::Round& round() const { return round_; }

 private:
  ranks::Channel* channel_ = nullptr;
  ranks::Channel::Round round_;
  int naps_ = 0;  // while an error is broadcast
  MPI_Comm communicator_ = MPI_COMM_NULL;
  ranks::Pending pending_;
  bool broadcasting_ = false;
  int failed_ = -1;
  Status mine_;
  Status outcome_;
  ranks::ErrorMessage message_;
  static_assert(argument_kinds <= ranks::Channel::most_compared);
};

// start() and test() until the deadline.
[[nodiscard]] Status agree(ranks::Channel& channel, MPI_Comm communicator, const Status& mine,
                           const CallFingerprint& fingerprint, double deadline_seconds,
                           std::int64_t unstored = 0);
// Agrees as agree() does, and asks rank 0; `round` becomes the one that rank 0 has to answer.
[[nodiscard]] Status agree_to_ask(ranks::Channel& channel, MPI_Comm communicator,
                                  const Status& mine, const CallFingerprint& fingerprint,
                                  double deadline_seconds, ranks::Channel::Round& round);

}  // namespace weir::aggregation
