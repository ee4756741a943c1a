// The collective calls of a session, in the order in which this rank made them.
//
// Each call goes through these steps on every rank:
//   1. voting   When the call is made, its opening vote begins: one round finds ranks that make
//               another call, and ranks that cannot do what they call (agreement.hpp).
//   2. running  A request moves its data, and its closing vote determines the outcome. A call that
//               blocks is carried out by its caller.
//   3. ended    The outcome is the same on every rank. A call that was refused ends without step 2.
// A call for which no rank needs another one, such as closing a file, has a single vote: each rank
// does its part first, and tells in the opening vote whether it succeeded. The end of a step is of
// this kind, too; rank 0 commits the step when all have done their parts, and the vote carries its
// answer.
// Only the first call of the queue is beyond step 1. So all ranks go through steps 2 and 3 in the
// same order, in whatever order they wait for requests.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "aggregation/agreement.hpp"
#include "aggregation/collective.hpp"
#include "aggregation/collective_state.hpp"
#include "common/status.hpp"
#include "ranks/life_signs.hpp"
#include "ranks/progress.hpp"
#include "system/child_process.hpp"

namespace weir::aggregation {

// The part of a request after its opening vote. It makes progress only inside test() and wait().
class RequestWork {
 public:
  RequestWork() = default;
  RequestWork(const RequestWork&) = delete;
  RequestWork& operator=(const RequestWork&) = delete;
  virtual ~RequestWork() = default;

  // Begins the work, on all ranks in the same order. `all_remember_the_same`: Call::remembered was
  // equal on all ranks.
  virtual void begin(bool all_remember_the_same) = 0;
  // Ends the work without beginning it, because the opening vote had this outcome, an error. After
  // an invalid argument the program may go on without a write, and its step is whole. After any
  // other error the step lacks what a rank wanted to write, and cannot be ended.
  virtual void refuse(const Status& outcome) = 0;
  // Makes as much progress as possible without waiting. Returns true if the work has ended.
  [[nodiscard]] virtual bool test() = 0;
  // Waits for the end, and returns the outcome, which is equal on every rank.
  [[nodiscard]] virtual Status wait() = 0;
  [[nodiscard]] virtual const CollectiveFigures& figures() const = 0;
};

class CallQueue;

// A call in the queue. The queue keeps it until it has ended, also without its owner.
class Request {
 public:
  // Makes as much progress on the calls of the queue as possible without waiting. Returns true if
  // the request has ended. The call is local, but no rank's request ends before all ranks call
  // test() or wait().
  [[nodiscard]] bool test();
  // Collective. Returns the outcome, equal on every rank and in repeated calls.
  Status wait();
  [[nodiscard]] bool ended() const { return step_ == Step::ended; }
  // Valid after the request has ended.
  [[nodiscard]] const CollectiveFigures& figures() const { return figures_; }

 private:
  friend class CallQueue;
  enum class Step : std::uint8_t { voting, running, ended };
  explicit Request(CallQueue& queue) : queue_(queue) {}

  CallQueue& queue_;
  Step step_ = Step::voting;
  bool asks_ = false;
  bool is_alike_ = false;               // after the opening vote: all ranks made this call
  bool all_remember_the_same_ = false;  // likewise (Call::remembered)
  std::unique_ptr<Agreement> opening_;
  std::unique_ptr<RequestWork> work_;  // null: the caller carries out the call
  std::shared_ptr<const void> memory_;
  Status outcome_;
  CollectiveFigures figures_;
};

class CallQueue {
 public:
  explicit CallQueue(CollectiveState& state);

  // Adds a call and begins its opening vote. `memory` is kept until the call has ended.
  [[nodiscard]] std::shared_ptr<Request> submit(Call call, std::unique_ptr<RequestWork> work,
                                                std::shared_ptr<const void> memory);
  // Waits until the request has ended.
  Status complete(const Request& request);
  // Moves on as far as possible without waiting for another rank.
  void progress();
  // Lets requests move on only in calls of this queue from now on, not in waits of other sessions.
  void abandon() { background_.end(); }

  // A call that blocks: from its opening vote, after all earlier calls, to the end of the object.
  class Turn {
   public:
    // Waits for the end of the opening vote.
    Turn(CallQueue& queue, Call call);
    // Makes a call that has a single vote: waits until all earlier calls have ended, does this
    // rank's part of the call, `act`, which notes its outcome in the call, and votes. In a broken
    // session, `act` is not called.
    Turn(CallQueue& queue, Call call, const std::function<void(Call&)>& act);
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    ~Turn();
    // Returns the outcome of the vote. After success, every rank carries out the call, or has
    // carried out its part of it.
    [[nodiscard]] const Status& entered() const { return entered_; }
    // Returns whether all ranks made this call, also if the vote failed; equal on all ranks.
    [[nodiscard]] bool is_alike() const { return is_alike_; }
    // Returns, equal on all ranks, whether Call::remembered was equal on all ranks.
    [[nodiscard]] bool all_remember_the_same() const { return all_remember_the_same_; }
    // Called with the outcome of a call that was carried out.
    void end(const Status& outcome) { queue_.note(outcome); }

   private:
    CallQueue& queue_;
    ranks::LifeSigns::During in_call_;
    ranks::Background::Call alone_;
    storage::WhileProgramsRun moving_;
    Status entered_;
    bool is_alike_ = false;
    bool all_remember_the_same_ = false;
  };

  // Returns whether an earlier call has broken the session on this rank, or MPI has failed on any
  // rank.
  [[nodiscard]] bool broken() const;
  // Returns the error of calls on a broken session.
  [[nodiscard]] Error broken_session() const;
  // Marks that this rank makes no further calls, so that the others need not wait for it. `reason`
  // is in the errors of this rank's later calls; only the first reason is kept.
  void mark_broken(const std::string& reason);
  // Ends the waits of all ranks, also on other nodes, with this code and reason. Their later calls
  // return the reason too. Local. Only the first reason that a rank gives is used.
  void tell_others(ErrorCode code, const std::string& reason) const;
  // Fails after MPI_Finalize, when other ranks can no longer be reached, and marks the session as
  // broken.
  [[nodiscard]] Status check_mpi_runs();

 private:
  std::shared_ptr<Request> add(Call call, std::unique_ptr<RequestWork> work,
                               std::shared_ptr<const void> memory);
  void advance();
  void advance_first(bool may_wait);
  void vote(Request& request, bool may_wait);
  void end(Request& request, const Status& outcome);
  // Breaks the session if the outcome says that the ranks no longer know each other's state.
  void note(const Status& outcome);
  void keep_moving() const;

  CollectiveState& state_;
  std::deque<std::shared_ptr<Request>> waiting_;
  std::string broken_by_;  // empty: not broken by a call of this rank
  // Lets requests that were begun move on during waits of other sessions too. Outside calls, the
  // queue holds nothing but such requests.
  ranks::Background background_;
};

// Returns the error of a rank whose wait for the others' votes ended by `waited`.
[[nodiscard]] Error no_vote(const Error& waited, int rank, double deadline_seconds);

}  // namespace weir::aggregation
