// How far a sender may run ahead of its receivers. MPI ends a short send at once and keeps the
// message at the receiver until somebody receives it, in memory that nobody has counted: a sender
// that is faster than its receiver fills the receiver's memory.
//
// So every n-th message to the same receiver is sent synchronously: it ends when the receiver has
// begun to receive it, and therefore all messages before it. A sender that begins no further
// message to this receiver before is never more than n messages ahead. An n-th message costs an
// acknowledgement inside MPI and no message of the library; acknowledging each piece by a message
// would cost the receiver a call of MPI for every sender.
#pragma once

#include <cstdint>
#include <unordered_map>

namespace weir::ranks {

class SendCredits {
 public:
  // `most`: messages that may be under way to one receiver, at least 1.
  explicit SendCredits(int most) : most_(most) {}

  // Counts one more message to the receiver; true when it has to be sent synchronously.
  [[nodiscard]] bool take(int receiver) {
    int& sent = sent_[receiver];
    sent = sent + 1 == most_ ? 0 : sent + 1;
    return sent == 0;
  }

 private:
  int most_;
  // Since the last synchronous one, for each receiver that there was.
  std::unordered_map<std::int32_t, int> sent_;
};

}  // namespace weir::ranks
