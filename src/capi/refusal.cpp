#include "capi/refusal.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ranks/channel.hpp"

namespace weir::capi {
namespace {

constexpr std::size_t digest_letters = 16;

}  // namespace

Refusal::Refusal(MPI_Comm communicator, ranks::Revocation& revocation)
    : communicator_(communicator), revocation_(revocation) {
  MPI_Comm_rank(communicator, &rank_);
}

void Refusal::note(const Status& begun) {
  if (!begun.ok()) revocation_.revoke(begun.error());
}

void Refusal::broadcast(std::int64_t root, int code, const std::string& text, Step step) {
  step_ = step;
  message_ = {};
  if (rank_ == root) {
    message_.code = code;
    std::copy_n(text.begin(), std::min(text.size(), text_bytes - 1), message_.text.begin());
  }
  note(ranks::broadcast(pending_, &message_, sizeof message_, static_cast<int>(root),
                        communicator_));
}

void Refusal::begin_failure(std::int64_t lowest_failed, const Outcome& mine) {
  std::string text = mine.text;
  // Errors of the layers below may name their rank already.
  const std::string name = fmt::format("rank {}: ", rank_);
  if (text.find(name) == std::string::npos) text.insert(0, name);
  broadcast(lowest_failed, mine.code, text, Step::failure);
}

void Refusal::begin_difference(std::uint64_t digest, const std::string& call) {
  // The calls are compared with rank 0's; then the lowest rank that differs says what it called.
  digest_ = fmt::format("{:016x}", digest);
  call_ = call;
  broadcast(0, 0, digest_ + call_, Step::first_call);
}

bool Refusal::test() {
  while (step_ != Step::ended && !revocation_.is_revoked()) {
    const Result<bool> done = ranks::test(pending_);
    if (!done) revocation_.revoke(done.error());
    if (!done || !done.value()) return false;
    next();
  }
  return step_ == Step::ended;
}

void Refusal::next() {
  const std::string text = message_.text.data();
  switch (step_) {
    case Step::failure:
      outcome_ = failure(static_cast<int>(message_.code), text);
      step_ = Step::ended;
      break;
    case Step::first_call:
      first_call_ = text.substr(std::min(digest_letters, text.size()));
      differs_ = text.compare(0, digest_letters, digest_) == 0 ? ranks::Channel::nobody : rank_;
      step_ = Step::lowest;
      note(ranks::reduce_to_all(pending_, &differs_, &lowest_, 1, MPI_INT64_T, MPI_MIN,
                                communicator_));
      break;
    case Step::lowest:
      broadcast(lowest_, 0, call_, Step::other_call);
      break;
    case Step::other_call:
      outcome_ = failure(WEIR_E_MISMATCH,
                         fmt::format("ranks differ: rank 0 called {}, rank {} called {}; every "
                                     "rank makes the same calls in the same order with the same "
                                     "arguments",
                                     first_call_, lowest_, text));
      step_ = Step::ended;
      break;
    case Step::ended:
      break;
  }
}

}  // namespace weir::capi
