// Lets the ranks agree to make a call, or how it ended.
//
// 1. One round of the channel determines the lowest rank that failed, whether all ranks make the
//    same call, and whether all ranks together stored as many bytes as they were to write.
// 2. Only if a rank failed: it broadcasts its error, and all ranks return this error.
//    Only if calls differ: rank 0, and the lowest rank that differs from it, broadcast what they
//    called, and all ranks return an error with both.
//
// No step blocks, so that a request can be tested and a missing rank is noticed.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "common/status.hpp"
#include "ranks/channel.hpp"
#include "ranks/error_message.hpp"
#include "ranks/messages.hpp"

namespace weir::aggregation {

// Says what one rank calls, and whether it can. Nothing moves before all ranks agree on it.
struct Call {
  // Returns a call that `text` describes in full. `possible` is the result of this rank's check of
  // its own arguments.
  [[nodiscard]] static Call of(std::string text, Status possible = {});

  // A hash of everything that must be equal on all ranks. Texts and arguments that are compared
  // differ by mistake, never on purpose.
  std::uint64_t digest = 0;
  // Returns the text that is shown if ranks differ.
  std::function<std::string()> describe = nullptr;
  Status possible = {};
  // A number for what this rank remembers of earlier calls. When the vote has ended, it is known
  // whether all ranks remember the same; a difference is not an error.
  std::optional<std::int64_t> remembered = std::nullopt;
  // Rank 0 alone finds out what all ranks need, and the vote carries its answer (channel.hpp).
  bool asks = false;
  // The bytes that this rank was to write, minus the bytes that it stored for any rank. If the sum
  // over all ranks is not 0, bytes were lost, and the outcome is an error.
  std::int64_t unstored = 0;
  // Marks a call that gives up something in which other ranks may still be working. The call is
  // carried out only when every rank makes it; any other call that it is compared with is refused
  // with `possible`, which is an error.
  bool gives_up = false;
};

class Agreement {
 public:
  // Begins an agreement. `communicator` has the same ranks as the channel, and both must outlive
  // the agreement. Messages about errors go through the communicator: agreements of one
  // communicator are tested one after the other.
  void start(ranks::Channel& channel, MPI_Comm communicator, Call call);
  // Returns true if the ranks have agreed; outcome() is then the same on every rank. It stays false
  // if the session is revoked, so a waiting caller must check Channel::revocation().
  [[nodiscard]] bool test();
  // Called after test() returned false: sleeps until it is worth testing again, for a few
  // milliseconds at most, and keeps everything else moving.
  void nap();
  [[nodiscard]] const Status& outcome() const { return outcome_; }
  [[nodiscard]] ranks::Channel& channel() const { return *channel_; }
  // Returns the round, which asks rank 0 if the call asks and the outcome is success.
  [[nodiscard]] const ranks::Channel::Round& round() const { return round_; }
  [[nodiscard]] bool all_remember_the_same() const;
  // Returns whether all ranks made the same call.
  [[nodiscard]] bool all_make_this_call() const;

 private:
  enum class Step : std::uint8_t { voting, failure, first_call, lowest, other_call, ended };
  [[nodiscard]] std::int64_t rank() const;
  void end_vote();
  // Goes on after the message of the present step.
  void take_message();
  // Broadcasts an error from rank `root`. `error` is used there; other ranks may give it, too.
  void broadcast(std::int64_t root, Step step, const Error& error);
  void note(const Status& begun);

  ranks::Channel* channel_ = nullptr;
  MPI_Comm communicator_ = MPI_COMM_NULL;
  Call call_;
  ranks::Channel::Round round_;
  Step step_ = Step::ended;
  int naps_ = 0;  // counted during step 2
  ranks::Pending pending_;
  std::unique_ptr<ranks::ErrorMessage> message_;  // null in most agreements, which succeed
  std::int64_t differs_ = 0;  // this rank, if its call differs from rank 0's, otherwise
                              // Channel::nobody
  std::int64_t lowest_ = 0;   // the lowest rank that failed, or whose call differs
  std::string text_;          // of this rank's call
  std::string first_text_;    // of rank 0's call
  Status outcome_;
};

// Waits until the ranks have agreed. If the deadline passes or the session is revoked, returns the
// reason, and `agreement` is null: its messages are still under way, so it is never freed.
[[nodiscard]] Status finish(std::unique_ptr<Agreement>& agreement, double deadline_seconds);
// Runs start() and finish().
[[nodiscard]] Status agree(ranks::Channel& channel, MPI_Comm communicator, Call call,
                           double deadline_seconds);

}  // namespace weir::aggregation
