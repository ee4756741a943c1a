// The ranks tell each other whether a call may begin, or how it ended.
//
// 1. One round of the channel finds the lowest rank that failed, and whether the fingerprints of
// all
//    ranks agree.
// 2. Only when a rank failed: it broadcasts its error, and all ranks return that.
// Neither waits by itself, so that a request can be tested and a missing rank is noticed.
#pragma once

#include <mpi.h>

#include <array>
#include <cstdint>

#include "aggregation/call_fingerprint.hpp"
#include "common/status.hpp"
#include "ranks/channel.hpp"

namespace weir::aggregation {

class Agreement {
 public:
  // One at a time per channel. Ends before the channel and the communicator do, which is of the
  // same ranks.
  // `asks`: rank 0 is asked (channel.hpp).
  void start(ranks::Channel& channel, MPI_Comm communicator, const Status& mine,
             const CallFingerprint& fingerprint, bool asks = false);
  // True when the ranks have agreed; outcome() is then the same on every rank.
  [[nodiscard]] bool test();
  // After test() was false: until it is worth another look, some milliseconds at most.
  void nap();
  [[nodiscard]] const Status& outcome() const { return outcome_; }
  // Asked, when the outcome is good.
  [[nodiscard]] const ranks::Channel::Round& round() const { return round_; }

 private:
  // An error as it is sent.
  struct Message {
    std::int64_t offset;
    std::int32_t code;
    std::int32_t system_error;
    std::array<char, 64> operation;
    std::array<char, 1024> file;
    std::array<char, 1024> text;
  };
  void pack(const Error& error);
  [[nodiscard]] Error unpack(int rank) const;

  ranks::Channel* channel_ = nullptr;
  ranks::Channel::Round round_;
  int naps_ = 0;  // while an error is broadcast
  MPI_Comm communicator_ = MPI_COMM_NULL;
  MPI_Request request_ = MPI_REQUEST_NULL;
  bool broadcasting_ = false;
  int failed_ = -1;
  Status mine_;
  Status outcome_;
  Message message_{};
  static_assert(argument_kinds <= ranks::Channel::most_compared);
};

// start() and test() until the deadline.
[[nodiscard]] Status agree(ranks::Channel& channel, MPI_Comm communicator, const Status& mine,
                           const CallFingerprint& fingerprint, double deadline_seconds);
// The same, asking rank 0; `round` becomes the one that it has to answer.
[[nodiscard]] Status agree_to_ask(ranks::Channel& channel, MPI_Comm communicator,
                                  const Status& mine, const CallFingerprint& fingerprint,
                                  double deadline_seconds, ranks::Channel::Round& round);

}  // namespace weir::aggregation
