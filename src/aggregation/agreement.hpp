// Lets the ranks agree whether a call may begin, or how it ended.
//
// 1. One round of the channel determines the lowest rank that failed, whether the fingerprints of
//    all ranks are equal, and whether all ranks together stored as many bytes as they were to
//    write.
// 2. Only if a rank failed: it broadcasts its error, and all ranks return this error.
//
// Neither step blocks, so that a request can be tested and a missing rank is noticed.
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
  // Begins an agreement; only one at a time per channel. `communicator` has the same ranks as the
  // channel, and both must outlive the agreement. `asks`: the round asks rank 0 (channel.hpp).
  // `unstored`: the bytes that this rank was to write, minus the bytes that it stored for any rank.
  // If the sum over all ranks is not 0, bytes were lost, and the outcome is an error.
  void start(ranks::Channel& channel, MPI_Comm communicator, const Status& mine,
             const CallFingerprint& fingerprint, bool asks = false, std::int64_t unstored = 0);
  // Returns true if the ranks have agreed; outcome() is then the same on every rank. It stays false
  // if the session is revoked, so a waiting caller must check Channel::revocation().
  [[nodiscard]] bool test();
  // Called after test() returned false: sleeps until it is worth testing again, for a few
  // milliseconds at most, and keeps everything else moving.
  void nap();
  [[nodiscard]] const Status& outcome() const { return outcome_; }
  // Returns the round, which asks rank 0 if the outcome is success.
  [[nodiscard]] const ranks::Channel::Round& round() const { return round_; }

 private:
  ranks::Channel* channel_ = nullptr;
  ranks::Channel::Round round_;
  int naps_ = 0;  // counted while an error is broadcast
  MPI_Comm communicator_ = MPI_COMM_NULL;
  ranks::Pending pending_;
  bool broadcasting_ = false;
  int failed_ = -1;
  Status mine_;
  Status outcome_;
  ranks::ErrorMessage message_;
  static_assert(argument_kinds <= ranks::Channel::most_compared);
};

// Runs start() and test() until agreement or the deadline.
[[nodiscard]] Status agree(ranks::Channel& channel, MPI_Comm communicator, const Status& mine,
                           const CallFingerprint& fingerprint, double deadline_seconds,
                           std::int64_t unstored = 0);
// Like agree(), but also asks rank 0; `round` becomes the round that rank 0 has to answer.
[[nodiscard]] Status agree_to_ask(ranks::Channel& channel, MPI_Comm communicator,
                                  const Status& mine, const CallFingerprint& fingerprint,
                                  double deadline_seconds, ranks::Channel::Round& round);

}  // namespace weir::aggregation
