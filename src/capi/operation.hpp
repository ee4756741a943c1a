// Collective calls of a session, in the order in which they were made.
//
// A call goes through these steps on every rank:
//   1. submit()   this rank has checked its own arguments; a round is begun that compares the text
//                 of the call on all ranks and carries the lowest rank that found something wrong
//   2. comparing  until the round has ended. Every rank then knows the same: go on; or
//      refusing   until all know what is wrong, or how the ranks differ (capi/refusal.hpp)
//   3. running    what the call is for, by aggregation::Collective, which every rank enters
//   4. ended      the outcome is the same on every rank
// Only the first call of the queue is beyond step 1, so that all ranks go through steps 2 to 4 in
// the same order, whatever the order in which they wait for requests.
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

// A number of a text: texts that are compared differ by mistake, never on purpose.
[[nodiscard]] std::uint64_t digest_of(std::string_view text);

struct Operation {
  // Everything that must be alike on all ranks, as text: compared by its digest, shown when ranks
  // differ. Who has a digest of the same already may leave the text to be made then.
  std::string call;
  std::optional<std::uint64_t> digest = std::nullopt;
  // What this rank remembers of earlier calls, by a number: whether all remember the same is known
  // when the comparison has ended, and no difference is a mistake.
  std::optional<std::int64_t> remembered = std::nullopt;
  std::function<std::string()> describe = nullptr;
  // What this rank found wrong with its own arguments.
  Outcome prepared;
  // The call takes back what the others may still be doing: it is carried out only when every rank
  // makes it, and any other call that it meets is refused with `prepared`.
  bool gives_up = false;
  // What the call is for: waits, and gives the same outcome on every rank; or begins a request.
  // `call` is read when the steps before have ended well, so they may own what they need.
  std::function<Outcome()> run;
  // In place of that, where rank 0 alone finds out what all need: the comparison asks for it.
  std::function<Outcome(const aggregation::Asked&)> ask = nullptr;
  std::function<std::unique_ptr<aggregation::Request>()> start;
  // Set for a request that a handle stands for, until it has ended: after this is called, `start`
  // and the request use no memory of the program's.
  std::function<Outcome()> leave_callers_memory = nullptr;

  [[nodiscard]] bool ended() const { return stage == Stage::ended; }

  enum class Stage : std::uint8_t { comparing, refusing, running, ended };
  Stage stage = Stage::comparing;
  Outcome outcome = {};  // when ended
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
  // What is submitted moves only in calls of this queue from now on, and not in those of others.
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
  // Requests that were begun move on in other sessions' waits too: the queue holds nothing else
  // while it is not in a call.
  ranks::Background background_;
};

}  // namespace weir::capi
