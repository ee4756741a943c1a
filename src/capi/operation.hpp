// Collective calls of a session, in the order in which they were made.
//
// A call goes through these steps on every rank:
//   1. submit()   This rank has checked its own arguments. It begins a round that compares the
//                 call's text on all ranks, and finds the lowest rank whose check failed.
//   2. comparing  The round is under way. When it ends, every rank knows the same result, and
//                 either goes on or refuses the call.
//      refusing   The ranks exchange what is wrong, or how they differ (capi/refusal.hpp).
//   3. running    The call does its work by aggregation::Collective, which every rank enters.
//   4. ended      The outcome is the same on every rank.
// Only the first call of the queue is beyond step 1. So all ranks go through steps 2 to 4 in the
// same order, in whatever order they wait for requests.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "aggregation/collective.hpp"
#include "capi/outcome.hpp"
#include "capi/ranks.hpp"
#include "capi/refusal.hpp"
#include "ranks/progress.hpp"

namespace weir::capi {

// Returns a hash of a text. Texts that are compared differ by mistake, never on purpose.
[[nodiscard]] std::uint64_t digest_of(std::string_view text);

struct Operation {
  // Everything that must be alike on all ranks, as text. The digest is compared; the text is shown
  // if ranks differ. If `digest` is given, `describe` may make the text when it is
  // needed.
  std::string call;
  std::optional<std::uint64_t> digest = std::nullopt;
  // A number for what this rank remembers of earlier calls. When the comparison has ended, it is
  // known whether all ranks remember the same; a difference is not an error.
  std::optional<std::int64_t> remembered = std::nullopt;
  std::function<std::string()> describe = nullptr;
  // Result of this rank's check of its own arguments.
  Outcome prepared;
  // Marks a call that gives up something in which other ranks may still be working. The call is
  // carried out only when every rank makes it; any other call that it is compared with is refused
  // with `prepared`.
  bool gives_up = false;
  // Does the work of the call. Either `run` waits and returns the same outcome on every rank, or
  // `start` begins a request. They are called only after the earlier steps have succeeded.
  std::function<Outcome()> run;
  // Replaces `run` if rank 0 alone finds out what all ranks need. The comparison carries its
  // answer.
  std::function<Outcome(const aggregation::Asked&)> ask = nullptr;
  std::function<std::unique_ptr<aggregation::Request>()> start;
  // For a request with a handle, until it has ended: after this call, `start` and the request use
  // no memory of the program.
  std::function<Outcome()> leave_callers_memory = nullptr;

  [[nodiscard]] bool ended() const { return stage == Stage::ended; }

  enum class Stage : std::uint8_t { comparing, refusing, running, ended };
  Stage stage = Stage::comparing;
  Outcome outcome = {};  // valid when the stage is `ended`
  ranks::Channel::Round comparison = ranks::Channel::Round();
  std::unique_ptr<Refusal> refusal = nullptr;
  std::unique_ptr<aggregation::Request> request = nullptr;
};

class OperationQueue {
 public:
  explicit OperationQueue(Ranks& ranks);

  void submit(const std::shared_ptr<Operation>& operation);
  // Waits until the operation, which was submitted, has ended.
  Outcome complete(const Operation& operation);
  // Moves on as far as possible without waiting for another rank.
  void progress();
  // From now on, submitted operations move on only in calls of this queue, not in waits of other
  // sessions.
  void abandon() { background_.end(); }

 private:
  void advance();
  void advance_first(bool may_wait);
  void compare(Operation& operation, bool may_wait);
  void refuse(Operation& operation, bool may_wait);
  void begin(Operation& operation);
  void end(Operation& operation, Outcome outcome);

  Ranks& ranks_;
  std::deque<std::shared_ptr<Operation>> waiting_;
  // Lets requests that were begun move on during waits of other sessions too. Outside calls, the
  // queue holds nothing but such requests.
  ranks::Background background_;
};

}  // namespace weir::capi
