#include "aggregation/call_queue.hpp"

#include <fmt/format.h>

#include <utility>

namespace weir::aggregation {

using ranks::LifeSigns;

namespace {

// A vote that is still under way writes to the request, so it may never be freed.
void keep_for_good(const std::shared_ptr<Request>& request) {
  static_cast<void>(new std::shared_ptr<Request>(request));
}

}  // namespace

Error no_vote(const Error& waited, int rank, double deadline_seconds) {
  if (waited.code != ErrorCode::deadline) return waited;
  Error error = waited;
  error.rank = rank;
  error.message = fmt::format("not all ranks made this call (deadline_seconds {}): {}",
                              deadline_seconds, waited.message);
  return error;
}

bool Request::test() {
  queue_.progress();
  return ended();
}

Status Request::wait() { return queue_.complete(*this); }

CallQueue::CallQueue(CollectiveState& state) : state_(state), background_([this] { advance(); }) {}

void CallQueue::keep_moving() const { ranks::keep_moving(state_.group->revocation()); }

bool CallQueue::broken() const {
  return !broken_by_.empty() || state_.group->revocation().is_revoked();
}

Error CallQueue::broken_session() const {
  ranks::Revocation& revocation = state_.group->revocation();
  return {ErrorCode::communication,
          fmt::format("the session is broken ({}); close it and open a new one",
                      revocation.is_revoked() ? revocation.error().text() : broken_by_)};
}

void CallQueue::mark_broken(const std::string& reason) {
  if (!broken_by_.empty()) return;
  broken_by_ = reason;
  if (state_.group->life() != nullptr) state_.group->life()->leave();
}

void CallQueue::tell_others(ErrorCode code, const std::string& reason) const {
  state_.group->revocation().revoke(Error(code, reason));
}

Status CallQueue::check_mpi_runs() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized == 0) return {};
  mark_broken("MPI_Finalize was called before it was closed");
  return invalid_argument(
      "MPI_Finalize was called before the session was closed: close it first (in C++ by a block "
      "around it); data that was not yet in the headers of its files is lost");
}

std::shared_ptr<Request> CallQueue::submit(Call call, std::unique_ptr<RequestWork> work,
                                           std::shared_ptr<const void> memory) {
  const ranks::Background::Call alone(background_);
  return add(std::move(call), std::move(work), std::move(memory));
}

std::shared_ptr<Request> CallQueue::add(Call call, std::unique_ptr<RequestWork> work,
                                        std::shared_ptr<const void> memory) {
  const std::shared_ptr<Request> request(new Request(*this));
  if (broken()) {
    end(*request, broken_session());
  } else if (Status running = check_mpi_runs(); !running.ok()) {
    end(*request, running);
  } else {
    request->asks_ = call.asks;
    request->work_ = std::move(work);
    request->memory_ = std::move(memory);
    request->opening_ = std::make_unique<Agreement>();
    request->opening_->start(state_.group->openings(), state_.communicator, std::move(call));
    waiting_.push_back(request);
  }
  return request;
}

CallQueue::Turn::Turn(CallQueue& queue, Call call) : Turn(queue, std::move(call), nullptr) {}

CallQueue::Turn::Turn(CallQueue& queue, Call call, const std::function<void(Call&)>& act)
    : queue_(queue),
      in_call_(queue.state_.group->life(), LifeSigns::What::call),
      alone_(queue.background_),
      moving_([this] { queue_.keep_moving(); }) {
  if (act) {
    while (!queue.waiting_.empty()) queue.advance_first(true);
    if (!queue.broken() && queue.check_mpi_runs().ok()) act(call);
  }
  const auto request = queue.add(std::move(call), nullptr, nullptr);
  while (!request->ended()) queue.advance_first(true);
  entered_ = request->outcome_;
  is_alike_ = request->is_alike_;
  all_remember_the_same_ = request->all_remember_the_same_;
}

CallQueue::Turn::~Turn() {
  // A call may fail alike on all ranks before it asks rank 0.
  release_asked(queue_.state_);
}

Status CallQueue::complete(const Request& request) {
  const LifeSigns::During call(state_.group->life(), LifeSigns::What::call);
  const ranks::Background::Call alone(background_);
  const storage::WhileProgramsRun moving([this] { keep_moving(); });
  while (!request.ended()) advance_first(true);
  return request.outcome_;
}

void CallQueue::progress() {
  const ranks::Background::Call alone(background_);
  const LifeSigns::During call(state_.group->life(), LifeSigns::What::call);
  const storage::WhileProgramsRun moving([this] { keep_moving(); });
  advance();
  // A program that tests repeatedly is also waiting.
  if (!waiting_.empty() && !broken()) keep_moving();
}

void CallQueue::advance() {
  while (!waiting_.empty()) {
    const auto first = waiting_.front();
    advance_first(false);
    if (!first->ended()) return;
  }
}

void CallQueue::advance_first(bool may_wait) {
  const auto first = waiting_.front();
  if (broken()) {
    end(*first, broken_session());
  } else if (Status running = check_mpi_runs(); !running.ok()) {
    end(*first, running);
  } else if (first->step_ == Request::Step::voting) {
    vote(*first, may_wait);
  } else if (may_wait || first->work_->test()) {
    end(*first, first->work_->wait());
  }
  if (!first->ended()) return;
  if (broken()) keep_for_good(first);
  waiting_.pop_front();
}

void CallQueue::vote(Request& request, bool may_wait) {
  const double deadline = state_.settings.deadline_seconds;
  Status outcome;
  if (may_wait) {
    outcome = finish(request.opening_, deadline);
    if (request.opening_ == nullptr) {
      Error error = no_vote(outcome.error(), state_.rank, deadline);
      if (error.code == ErrorCode::deadline) {
        tell_others(error.code, outcome.error().message);
        if (request.asks_)
          error.message += ", or rank 0 is still reading or writing while the others wait";
      }
      end(request, error);
      return;
    }
  } else if (request.opening_->test()) {
    outcome = request.opening_->outcome();
  } else {
    return;
  }
  request.is_alike_ = request.opening_->all_make_this_call();
  request.all_remember_the_same_ = request.opening_->all_remember_the_same();
  if (!outcome.ok() || request.work_ == nullptr) {
    // The ranks of a node wait for an answer also where bytes were lost.
    if (request.opening_->round().is_asked()) state_.asked = request.opening_->round();
    if (!outcome.ok() && request.work_ != nullptr) request.work_->refuse(outcome);
    end(request, outcome);
  } else {
    request.step_ = Request::Step::running;
    request.work_->begin(request.all_remember_the_same_);
  }
}

void CallQueue::note(const Status& outcome) {
  if (outcome.ok() || !ranks::ends_communication(outcome.error())) return;
  const std::string text = outcome.error().text();
  if (outcome.error().code == ErrorCode::deadline) tell_others(ErrorCode::deadline, text);
  mark_broken(text);
}

void CallQueue::end(Request& request, const Status& outcome) {
  note(outcome);
  request.outcome_ = outcome;
  request.step_ = Request::Step::ended;
  if (request.work_ != nullptr) request.figures_ = request.work_->figures();
  // In a broken session the memory may be needed still.
  if (broken()) return;
  request.opening_ = nullptr;
  request.work_ = nullptr;
  request.memory_ = nullptr;
}

}  // namespace weir::aggregation
