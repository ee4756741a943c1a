#include "capi/operation.hpp"

#include <utility>

#include "system/child_process.hpp"

namespace weir::capi {

using ranks::LifeSigns;

namespace {

// A comparison that is still under way writes to the operation, so it may never be freed.
void keep_for_good(const std::shared_ptr<Operation>& operation) {
  static_cast<void>(new std::shared_ptr<Operation>(operation));
}

}  // namespace

// Computes the FNV-1a hash.
std::uint64_t digest_of(std::string_view text) {
  std::uint64_t digest = 0xcbf29ce484222325U;
  for (const char letter : text) {
    digest = (digest ^ static_cast<unsigned char>(letter)) * 0x100000001b3U;
  }
  return digest;
}

OperationQueue::OperationQueue(Ranks& ranks) : ranks_(ranks), background_([this] { advance(); }) {}

void OperationQueue::submit(const std::shared_ptr<Operation>& operation) {
  const ranks::Background::Call alone(background_);
  Operation& submitted = *operation;
  if (ranks_.broken()) {
    end(submitted, ranks_.broken_session());
    return;
  }
  if (auto running = ranks_.check_mpi_runs(); !running.ok()) {
    end(submitted, std::move(running));
    return;
  }
  if (!submitted.digest) submitted.digest = digest_of(submitted.call);
  ranks_.begin(submitted.comparison, !submitted.prepared.ok(), *submitted.digest,
               submitted.ask != nullptr, submitted.remembered);
  waiting_.push_back(operation);
}

Outcome OperationQueue::complete(const Operation& operation) {
  const LifeSigns::During call(ranks_.compared_by().life(), LifeSigns::What::call);
  const ranks::Background::Call alone(background_);
  const storage::WhileProgramsRun moving([this] { ranks::keep_moving(ranks_.revocation()); });
  while (!operation.ended()) advance_first(true);
  return operation.outcome;
}

void OperationQueue::progress() {
  const ranks::Background::Call alone(background_);
  const LifeSigns::During call(ranks_.compared_by().life(), LifeSigns::What::call);
  const storage::WhileProgramsRun moving([this] { ranks::keep_moving(ranks_.revocation()); });
  advance();
  // A program that tests repeatedly is also waiting.
  if (!waiting_.empty() && !ranks_.broken()) ranks::keep_moving(ranks_.revocation());
}

void OperationQueue::advance() {
  while (!waiting_.empty()) {
    const auto first = waiting_.front();
    advance_first(false);
    if (!first->ended()) return;
  }
}

void OperationQueue::advance_first(bool may_wait) {
  const auto first = waiting_.front();
  if (ranks_.broken()) {
    end(*first, ranks_.broken_session());
  } else if (auto running = ranks_.check_mpi_runs(); !running.ok()) {
    end(*first, std::move(running));
  } else if (first->stage == Operation::Stage::comparing) {
    compare(*first, may_wait);
  } else if (first->stage == Operation::Stage::refusing) {
    refuse(*first, may_wait);
  } else if (may_wait || first->request->test()) {
    end(*first, outcome_of(first->request->wait()));
  }
  if (!first->ended()) return;
  if (ranks_.broken()) keep_for_good(first);
  waiting_.pop_front();
}

void OperationQueue::compare(Operation& operation, bool may_wait) {
  Outcome outcome;
  if (may_wait) {
    outcome = ranks_.wait(operation.comparison);
  } else if (!ranks_.test(operation.comparison)) {
    return;
  }
  if (!outcome.ok()) {
    end(operation, std::move(outcome));
  } else {
    const std::int64_t failed = operation.comparison.lowest_failed();
    const bool all_called_the_same = Ranks::called_the_same(operation.comparison);
    const bool is_refused = failed != ranks::Channel::nobody;
    if (all_called_the_same && (!is_refused || operation.gives_up)) {
      begin(operation);
      return;
    }
    operation.refusal = std::make_unique<Refusal>(ranks_.details(), ranks_.revocation());
    operation.stage = Operation::Stage::refusing;
    if (is_refused) {
      operation.refusal->begin_failure(failed, operation.prepared);
    } else {
      if (operation.describe) operation.call = operation.describe();
      operation.refusal->begin_difference(*operation.digest, operation.call);
    }
  }
}

void OperationQueue::refuse(Operation& operation, bool may_wait) {
  if (may_wait) {
    end(operation, ranks_.wait(*operation.refusal));
  } else if (operation.refusal->test()) {
    end(operation, operation.refusal->outcome());
  }
}

void OperationQueue::begin(Operation& operation) {
  if (operation.start) {
    operation.request = operation.start();
    operation.stage = Operation::Stage::running;
  } else if (operation.ask) {
    const aggregation::Asked asked{ranks_.compared_by(), operation.comparison};
    end(operation, outcome_without_throwing([&] { return operation.ask(asked); }));
  } else {
    end(operation, outcome_without_throwing(operation.run));
  }
}

void OperationQueue::end(Operation& operation, Outcome outcome) {
  if (outcome.code == WEIR_E_DEADLINE) ranks_.tell_others(ErrorCode::deadline, outcome.text);
  if (outcome.code == WEIR_E_DEADLINE || outcome.code == WEIR_E_BROKEN) {
    ranks_.mark_broken(outcome.text);
  }
  operation.outcome = std::move(outcome);
  operation.stage = Operation::Stage::ended;
  // The memory that these own (the request's memory layouts, a distribution) is no longer needed.
  // In a broken session it may be needed still.
  if (!ranks_.broken()) {
    operation.refusal = nullptr;
    operation.request = nullptr;
    operation.start = nullptr;
    operation.run = nullptr;
    operation.ask = nullptr;
    operation.describe = nullptr;
    operation.leave_callers_memory = nullptr;
  }
}

}  // namespace weir::capi
