// How the ranks tell each other why none of them goes on with a call that they have compared: what
// the lowest rank that failed found, or how the calls differ. A few small messages, of which none
// is waited for here, so that other sessions' waits can see them through too.
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
  // All ranks of `communicator` begin the same, one refusal after the other. An error of MPI
  // revokes the session, and then this never ends.
  Refusal(MPI_Comm communicator, ranks::Revocation& revocation);
  Refusal(const Refusal&) = delete;
  Refusal& operator=(const Refusal&) = delete;
  // Must not end before test() is true, as MPI may still write to it.
  ~Refusal() = default;

  // `lowest_failed`: the lowest rank whose outcome `mine` is not good, known to all.
  void begin_failure(std::int64_t lowest_failed, const Outcome& mine);
  // `digest` and `call`: of what this rank called.
  void begin_difference(std::uint64_t digest, const std::string& call);
  [[nodiscard]] bool test();
  // When ended: the same on all ranks.
  [[nodiscard]] const Outcome& outcome() const { return outcome_; }

 private:
  enum class Step : std::uint8_t { failure, first_call, lowest, other_call, ended };
  static constexpr std::size_t text_bytes = 2000;
  // A text, cut to what fits, and a code.
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
  std::int64_t differs_ = 0;  // this rank, if it called something else than rank 0
  std::int64_t lowest_ = 0;   // that does
  std::string digest_;
  std::string call_;
  std::string first_call_;
  Outcome outcome_;
};

}  // namespace weir::capi
