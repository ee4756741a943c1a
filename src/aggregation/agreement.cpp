#include "aggregation/agreement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "aggregation/byte_account.hpp"
#include "array/fingerprint.hpp"
#include "ranks/progress.hpp"
#include "ranks/waiting.hpp"

namespace weir::aggregation {
namespace {

using ranks::Channel;

// Numbers that the ranks compare.
constexpr std::size_t compared_call = 0;
constexpr std::size_t compared_memory = 1;

// Number of naps between two checks of everything else, while a message is under way.
constexpr int naps_per_progress = 16;

// A text about a call begins with its digest.
constexpr std::size_t digest_letters = 16;

std::string without_digest(const std::string& text) {
  return text.substr(std::min(digest_letters, text.size()));
}

}  // namespace

Call Call::of(std::string text, Status possible) {
  array::Fingerprint digest;
  digest.add(std::ssize(text));
  for (std::size_t at = 0; at < text.size(); at += sizeof(std::int64_t)) {
    std::int64_t letters = 0;
    std::memcpy(&letters, text.data() + at, std::min(sizeof letters, text.size() - at));
    digest.add(letters);
  }
  return {.digest = digest.value(),
          .describe = [text = std::move(text)] { return text; },
          .possible = std::move(possible)};
}

void Agreement::start(Channel& channel, MPI_Comm communicator, Call call) {
  channel_ = &channel;
  communicator_ = communicator;
  call_ = std::move(call);
  outcome_ = {};
  round_ = Channel::Round(call_.possible.ok() ? Channel::nobody : rank(), call_.asks);
  round_.add(call_.unstored);
  round_.compare(compared_call, static_cast<std::int64_t>(call_.digest));
  if (call_.remembered) round_.compare(compared_memory, *call_.remembered);
  step_ = Step::voting;
  channel.start(round_);
}

std::int64_t Agreement::rank() const { return channel_->revocation().rank(); }

bool Agreement::all_remember_the_same() const { return round_.is_alike(compared_memory); }

bool Agreement::all_make_this_call() const { return round_.is_alike(compared_call); }

bool Agreement::test() {
  if (step_ == Step::voting) {
    if (!channel_->test(round_)) return false;
    end_vote();
  }
  while (step_ != Step::ended && !channel_->revocation().is_revoked()) {
    const Result<bool> done = ranks::test(pending_);
    if (!done) channel_->revocation().revoke(done.error());
    if (!done || !done.value()) return false;
    take_message();
  }
  return step_ == Step::ended;
}

void Agreement::end_vote() {
  const bool is_alike = all_make_this_call();
  lowest_ = round_.lowest_failed();
  if (lowest_ != Channel::nobody && !(is_alike && call_.gives_up)) {
    broadcast(lowest_, Step::failure, rank() == lowest_ ? call_.possible.error() : Error());
  } else if (!is_alike) {
    text_ = fmt::format("{:016x}", call_.digest) + (call_.describe ? call_.describe() : "");
    broadcast(0, Step::first_call, Error(ErrorCode::mismatch, text_));
  } else {
    step_ = Step::ended;
    outcome_ = check_all_stored(round_.sum());
  }
}

void Agreement::take_message() {
  switch (step_) {
    case Step::failure: {
      Error error = message_->error();
      error.rank = static_cast<int>(lowest_);
      outcome_ = std::move(error);
      step_ = Step::ended;
      break;
    }
    case Step::first_call:
      first_text_ = message_->error().message;
      differs_ = text_.compare(0, digest_letters, first_text_, 0, digest_letters) == 0
                     ? Channel::nobody
                     : rank();
      step_ = Step::lowest;
      note(ranks::reduce_to_all(pending_, &differs_, &lowest_, 1, MPI_INT64_T, MPI_MIN,
                                communicator_));
      break;
    case Step::lowest:
      broadcast(lowest_, Step::other_call, Error(ErrorCode::mismatch, text_));
      break;
    case Step::other_call:
      outcome_ =
          Error(ErrorCode::mismatch,
                fmt::format("ranks differ: rank 0 called {}, rank {} called {}; every rank must "
                            "make the same calls in the same order with the same arguments",
                            without_digest(first_text_), lowest_,
                            without_digest(message_->error().message)));
      step_ = Step::ended;
      break;
    case Step::voting:
    case Step::ended:
      break;
  }
}

void Agreement::broadcast(std::int64_t root, Step step, const Error& error) {
  step_ = step;
  message_ = std::make_unique<ranks::ErrorMessage>(ranks::ErrorMessage::of(error));
  note(ranks::broadcast(pending_, message_.get(), sizeof *message_, static_cast<int>(root),
                        communicator_));
}

// After an error nothing is tested again: the session is revoked.
void Agreement::note(const Status& begun) {
  if (!begun.ok()) channel_->revocation().revoke(begun.error());
}

void Agreement::nap() {
  if (step_ == Step::voting) {
    channel_->nap(round_);
    return;
  }
  ranks::yield_or_doze(++naps_);
  if (naps_ % naps_per_progress == 0) ranks::keep_moving(channel_->revocation());
}

Status finish(std::unique_ptr<Agreement>& agreement, double deadline_seconds) {
  Channel& channel = agreement->channel();
  ranks::Patience patience(deadline_seconds, channel.life());
  while (!agreement->test()) {
    const bool revoked = channel.revocation().is_revoked();
    if (!revoked && patience.has_time()) {
      agreement->nap();
      continue;
    }
    [[maybe_unused]] const auto* const abandoned = agreement.release();
    return revoked ? channel.revocation().error() : patience.passed("the other ranks");
  }
  return agreement->outcome();
}

Status agree(Channel& channel, MPI_Comm communicator, Call call, double deadline_seconds) {
  auto agreement = std::make_unique<Agreement>();
  agreement->start(channel, communicator, std::move(call));
  return finish(agreement, deadline_seconds);
}

}  // namespace weir::aggregation
