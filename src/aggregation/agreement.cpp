#include "aggregation/agreement.hpp"

#include <fmt/format.h>

#include <memory>

#include "aggregation/byte_account.hpp"
#include "ranks/progress.hpp"
#include "ranks/waiting.hpp"

namespace weir::aggregation {
namespace {

// Number of naps between two checks of everything else, while an error is broadcast.
constexpr int naps_per_progress = 16;

}  // namespace

void Agreement::start(ranks::Channel& channel, MPI_Comm communicator, const Status& mine,
                      const CallFingerprint& fingerprint, bool asks, std::int64_t unstored) {
  channel_ = &channel;
  communicator_ = communicator;
  broadcasting_ = false;
  mine_ = mine;
  outcome_ = {};
  int rank = 0;
  MPI_Comm_rank(communicator, &rank);
  round_ = ranks::Channel::Round(mine.ok() ? ranks::Channel::nobody : rank, asks);
  round_.add(unstored);
  for (std::size_t kind = 0; kind < argument_kinds; ++kind) {
    round_.compare(kind, fingerprint.of(kind));
  }
  channel.start(round_);
}

bool Agreement::test() {
  if (broadcasting_) {
    const Result<bool> done = ranks::test(pending_);
    if (!done) channel_->revocation().revoke(done.error());
    if (!done || !done.value()) return false;
    Error error = message_.error();
    error.rank = failed_;
    outcome_ = error;
    return true;
  }
  if (!channel_->test(round_)) return false;
  if (round_.lowest_failed() == ranks::Channel::nobody) {
    for (std::size_t kind = 0; kind < argument_kinds && outcome_.ok(); ++kind) {
      if (round_.is_alike(kind)) continue;
      outcome_ =
          invalid_argument(fmt::format("the ranks do not agree on {}: pass the same on all of them",
                                       name_of(static_cast<Argument>(kind))));
    }
    if (outcome_.ok()) outcome_ = check_all_stored(round_.sum());
    return true;
  }
  failed_ = static_cast<int>(round_.lowest_failed());
  int rank = 0;
  MPI_Comm_rank(communicator_, &rank);
  if (rank == failed_) message_ = ranks::ErrorMessage::of(mine_.error());
  const Status begun =
      ranks::broadcast(pending_, &message_, sizeof message_, failed_, communicator_);
  // After a failure the broadcast is not tested again: the session is revoked.
  if (!begun.ok()) {
    channel_->revocation().revoke(begun.error());
    return false;
  }
  broadcasting_ = true;
  return test();
}

void Agreement::nap() {
  if (broadcasting_) {
    ranks::yield_or_doze(++naps_);
    if (naps_ % naps_per_progress == 0) ranks::keep_moving(channel_->revocation());
  } else {
    channel_->nap(round_);
  }
}

namespace {

Status see_through(std::unique_ptr<Agreement>& agreement, ranks::Channel& channel,
                   double deadline_seconds) {
  ranks::Patience patience(deadline_seconds, channel.life());
  while (!agreement->test()) {
    const bool revoked = channel.revocation().is_revoked();
    if (!revoked && patience.has_time()) {
      agreement->nap();
      continue;
    }
    // The broadcast may still write into the object, so it is never freed.
    [[maybe_unused]] const auto* const abandoned = agreement.release();
    return revoked ? channel.revocation().error() : patience.passed("the other ranks");
  }
  return agreement->outcome();
}

}  // namespace

Status agree(ranks::Channel& channel, MPI_Comm communicator, const Status& mine,
             const CallFingerprint& fingerprint, double deadline_seconds, std::int64_t unstored) {
  auto agreement = std::make_unique<Agreement>();
  agreement->start(channel, communicator, mine, fingerprint, false, unstored);
  return see_through(agreement, channel, deadline_seconds);
}

Status agree_to_ask(ranks::Channel& channel, MPI_Comm communicator, const Status& mine,
                    const CallFingerprint& fingerprint, double deadline_seconds,
                    ranks::Channel::Round& round) {
  auto agreement = std::make_unique<Agreement>();
  agreement->start(channel, communicator, mine, fingerprint, true);
  Status agreed = see_through(agreement, channel, deadline_seconds);
  if (agreement != nullptr) round = agreement->round();
  return agreed;
}

}  // namespace weir::aggregation
