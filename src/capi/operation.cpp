#include "capi/operation.hpp"

#include <utility>

namespace weir::capi {

using ranks::LifeSigns;

namespace {

Outcome broken_session() {
  return failure(WEIR_E_BROKEN,
                 "the session is broken, as an earlier call did not end before its deadline; close "
                 "it and open another one");
}

// A comparison that is still under way writes to the operation, so it may never be freed.
void keep_for_good(const std::shared_ptr<Operation>& operation) {
  static_cast<void>(new std::shared_ptr<Operation>(operation));
}

}  // namespace

// FNV-1a.
std::uint64_t digest_of(std::string_view text) {
  std::uint64_t digest = 0xcbf29ce484222325U;
  for (const char letter : text) {
    digest = (digest ^ static_cast<unsigned char>(letter)) * 0x100000001b3U;
  }
  return digest;
}

void OperationQueue::submit(const std::shared_ptr<Operation>& operation) {
  Operation& submitted = *operation;
  if (ranks_.broken()) {
    end(submitted, broken_session());
    return;
  }
  if (auto running = ranks_.check_mpi_runs(); !running.ok()) {
    end(submitted, std::move(running));
    return;
  }
  if (!submitted.digest) submitted.digest = digest_of(submitted.call);
  ranks_.begin(submitted.comparison, !submitted.prepared.ok(), *submitted.digest,
               submitted.ask != nullptr);
  waiting_.push_back(operation);
}

Outcome OperationQueue::complete(const Operation& operation) {
  const LifeSigns::During call(ranks_.compared_by().life(), LifeSigns::What::call);
  while (!operation.ended()) advance_first(true);
  return operation.outcome;
}

void OperationQueue::progress() {
  const LifeSigns::During call(ranks_.compared_by().life(), LifeSigns::What::call);
  while (!waiting_.empty()) {
    const auto first = waiting_.front();
    advance_first(false);
    if (!first->ended()) return;
  }
}

void OperationQueue::advance_first(bool may_wait) {
  const auto first = waiting_.front();
  if (ranks_.broken()) {
    end(*first, broken_session());
  } else if (auto running = ranks_.check_mpi_runs(); !running.ok()) {
    end(*first, std::move(running));
  } else if (first->stage == Operation::Stage::comparing) {
    compare(*first, may_wait);
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
    if (failed != ranks::Channel::nobody) {
      end(operation, ranks_.failure_of(failed, operation.prepared));
    } else if (!Ranks::called_the_same(operation.comparison)) {
      if (operation.describe) operation.call = operation.describe();
      end(operation, ranks_.difference(*operation.digest, operation.call));
    } else {
      begin(operation);
    }
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
  if (outcome.code == WEIR_E_DEADLINE) ranks_.mark_broken();
  operation.outcome = std::move(outcome);
  operation.stage = Operation::Stage::ended;
  // What they own (the request's memory layouts, a distribution) is not needed any more; after a
  // deadline it may be.
  if (!ranks_.broken()) {
    operation.request = nullptr;
    operation.start = nullptr;
    operation.run = nullptr;
    operation.ask = nullptr;
    operation.describe = nullptr;
    operation.leave_callers_memory = nullptr;
  }
}

}  // namespace weir::capi
