#include "capi/ranks.hpp"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <utility>

#include "ranks/progress.hpp"
#include "ranks/waiting.hpp"

namespace weir::capi {
namespace {

using ranks::Channel;
using ranks::KeptUntilDone;

constexpr const char* the_others = "the other ranks";

}  // namespace

Outcome Ranks::open(MPI_Comm communicator, double deadline_seconds) {
  deadline_seconds_ = deadline_seconds;
  ranks::Revocation of_opening(ranks::Revocation::Local{}, communicator);
  ranks::Pending pending;
  Status duplicated = ranks::duplicate(pending, communicator, details_);
  if (duplicated.ok()) {
    duplicated = ranks::wait_for(pending, of_opening, deadline_seconds_, the_others);
  }
  if (!duplicated.ok()) return ended(duplicated);
  MPI_Comm_set_errhandler(details_, MPI_ERRORS_RETURN);
  MPI_Comm_rank(details_, &rank_);
  MPI_Comm_size(details_, &size_);
  first_ = std::make_unique<ranks::Channel>(details_);
  return {};
}

void Ranks::free() {
  if (!broken() && details_ != MPI_COMM_NULL) MPI_Comm_free(&details_);
}

Outcome Ranks::check_mpi_runs() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized == 0) return {};
  mark_broken("MPI_Finalize was called before it was closed");
  return failure(WEIR_E_ARGUMENT,
                 "MPI_Finalize was called before: close the session first (in C++ let it end in a "
                 "block of its own); what its files had not been told yet is lost");
}

bool Ranks::broken() const {
  if (!broken_by_.empty()) return true;
  const Channel* const channel = channel_ != nullptr ? channel_ : first_.get();
  return channel != nullptr && channel->revocation().is_revoked();
}

void Ranks::mark_broken(const std::string& reason) {
  if (!broken_by_.empty()) return;
  broken_by_ = reason;
  if (life() != nullptr) life()->leave();
}

Outcome Ranks::broken_session() const {
  const Channel* const channel = channel_ != nullptr ? channel_ : first_.get();
  const bool revoked = channel != nullptr && channel->revocation().is_revoked();
  return failure(WEIR_E_BROKEN,
                 fmt::format("the session is broken ({}); close it and open another one",
                             revoked ? channel->revocation().error().text() : broken_by_));
}

Outcome Ranks::finish(const Status& begun, ranks::Pending& pending) {
  if (begun.ok()) {
    return ended(ranks::wait_for(pending, revocation(), deadline_seconds_, the_others, life()));
  }
  revocation().revoke(begun.error());
  return ended(begun);
}

void Ranks::tell_others(ErrorCode code, const std::string& reason) {
  if (channel_ == nullptr) return;  // each wait while the session is opened has its own deadline
  Error error;
  error.code = code;
  error.message = reason;
  revocation().revoke(error);
}

Outcome Ranks::ended(const Status& waited) {
  if (waited.ok()) return {};
  Outcome outcome = outcome_of(waited.error(), "");
  if (outcome.code == WEIR_E_DEADLINE) {
    outcome.text = fmt::format("rank {}: not all ranks made this call (deadline_seconds {}): {}",
                               rank_, deadline_seconds_, waited.error().message);
    tell_others(ErrorCode::deadline, waited.error().message);
  }
  mark_broken(outcome.text);
  return outcome;
}

void Ranks::begin(Channel::Round& round, bool failed, std::uint64_t digest, bool asks,
                  const std::optional<std::int64_t>& remembered) {
  round = Channel::Round(failed ? rank_ : Channel::nobody, asks);
  round.compare(0, static_cast<std::int64_t>(digest));
  if (remembered) round.compare(1, *remembered);
  compared_by().start(round);
}

bool Ranks::test(Channel::Round& round) { return compared_by().test(round); }

Outcome Ranks::wait(Channel::Round& round) {
  Outcome outcome = ended(compared_by().wait(round, deadline_seconds_, the_others));
  if (outcome.code == WEIR_E_DEADLINE && round.asks()) {
    outcome.text += ", or rank 0 still reads or writes what all wait for";
  }
  return outcome;
}

Outcome Ranks::wait(Refusal& refusal) {
  const Status waited = ranks::wait_until([&] { return refusal.test(); }, revocation(),
                                          deadline_seconds_, the_others, life());
  return waited.ok() ? refusal.outcome() : ended(waited);
}

Outcome Ranks::least(std::int64_t mine, std::int64_t& result) {
  KeptUntilDone<std::array<std::int64_t, 2>> numbers;
  (*numbers)[0] = mine;
  ranks::Pending pending;
  auto done = finish(ranks::reduce_to_all(pending, &(*numbers)[0], &(*numbers)[1], 1, MPI_INT64_T,
                                          MPI_MIN, details_),
                     pending);
  result = (*numbers)[1];
  if (!done.ok()) numbers.keep_for_good();
  return done;
}

Outcome Ranks::share(std::string& text) {
  struct Shared {
    std::int64_t bytes = 0;
    std::string text;
  };
  KeptUntilDone<Shared> shared;
  shared->bytes = static_cast<std::int64_t>(text.size());
  ranks::Pending pending;
  auto done =
      finish(ranks::broadcast(pending, &shared->bytes, sizeof shared->bytes, 0, details_), pending);
  if (done.ok()) {
    if (rank_ == 0) shared->text = text;
    shared->text.resize(static_cast<std::size_t>(shared->bytes));
    done =
        finish(ranks::broadcast(pending, shared->text.data(), shared->bytes, 0, details_), pending);
  }
  if (!done.ok()) {
    shared.keep_for_good();
    return done;
  }
  text = std::move(shared->text);
  return {};
}

Outcome Ranks::common(const Outcome& mine) {
  if (broken()) return mine.ok() ? broken_session() : mine;
  std::int64_t lowest = Channel::nobody;
  if (auto known = least(mine.ok() ? Channel::nobody : rank_, lowest); !known.ok()) return known;
  if (lowest == Channel::nobody) return {};
  auto refusal = std::make_unique<Refusal>(details_, revocation());
  refusal->begin_failure(lowest, mine);
  Outcome outcome = wait(*refusal);
  if (broken()) [[maybe_unused]]
    const auto* const kept = refusal.release();
  return outcome;
}

}  // namespace weir::capi
