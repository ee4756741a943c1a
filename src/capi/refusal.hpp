// Informs all ranks why none of them goes on with a call that they have compared: either what the
// lowest rank that failed found, or how the calls differ. This takes a few small messages. The
// class never waits for them, so that waits of other sessions can also move them on.
#pragma once

#include <mpi.h>

#include <array>
#include <cstdint>
#include <string>

#include "capi/outcome.hpp"
#include "ranks/messages.hpp"
#include "ranks/revocation.hpp"

namespace weir::capi {

class Refusal {
 public:
  // All ranks of `communicator` begin the same refusals in the same order. An error of MPI revokes
  // the session, and the refusal then never ends.
  Refusal(MPI_Comm communicator, ranks::Revocation& revocation);
  Refusal(const Refusal&) = delete;
  Refusal& operator=(const Refusal&) = delete;
  // Must not be called before test() returns true, because MPI may still write to the object.
  ~Refusal() = default;

  // Begins to send the outcome of rank `lowest_failed`, the lowest rank whose outcome is not good,
  // which all ranks know. `mine` is this rank's outcome.
  void begin_failure(std::int64_t lowest_failed, const Outcome& mine);
  // Begins to find out how the calls differ. `digest` and `call` describe this rank's call.
  void begin_difference(std::uint64_t digest, const std::string& call);
  [[nodiscard]] bool test();
  // The outcome, the same on all ranks; valid after the refusal has ended.
  [[nodiscard]] const Outcome& outcome() const { return outcome_; }

 private:
  enum class Step : std::uint8_t { failure, first_call, lowest, other_call, ended };
  static constexpr std::size_t text_bytes = 2000;
  // A code, and a text that is cut if it is too long.
  struct Message {
    std::int64_t code = 0;
    std::array<char, text_bytes> text{};
  };
  void broadcast(std::int64_t root, int code, const std::string& text, Step step);
  void note(const Status& begun);
  void next();

  MPI_Comm communicator_;
  ranks::Revocation& revocation_;
  int rank_ = 0;
  Step step_ = Step::ended;
  ranks::Pending pending_;
  Message message_;
  std::int64_t differs_ = 0;  // this rank, if its call differs from rank 0's, otherwise
                              // Channel::nobody
  std::int64_t lowest_ = 0;   // the lowest rank whose call differs
  std::string digest_;
  std::string call_;
  std::string first_call_;
  Outcome outcome_;
};

}  // namespace weir::capi
