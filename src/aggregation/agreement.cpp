#include "aggregation/agreement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>

#include "ranks/waiting.hpp"

namespace weir::aggregation {
namespace {

template <std::size_t size>
void put(std::array<char, size>& field, const std::string& text) {
  field.fill('\0');
  std::copy_n(text.begin(), std::min(text.size(), size - 1), field.begin());
}

}  // namespace

void Agreement::start(ranks::Channel& channel, MPI_Comm communicator, const Status& mine,
                      const CallFingerprint& fingerprint, bool asks) {
  channel_ = &channel;
  communicator_ = communicator;
  broadcasting_ = false;
  mine_ = mine;
  outcome_ = {};
  int rank = 0;
  MPI_Comm_rank(communicator, &rank);
  round_ = ranks::Channel::Round(mine.ok() ? ranks::Channel::nobody : rank, asks);
  for (std::size_t kind = 0; kind < argument_kinds; ++kind) {
    round_.compare(kind, fingerprint.of(kind));
  }
  channel.start(round_);
}

bool Agreement::test() {
  if (broadcasting_) {
    int done = 0;
    MPI_Test(&request_, &done, MPI_STATUS_IGNORE);
    if (done != 0) outcome_ = unpack(failed_);
    return done != 0;
  }
  if (!channel_->test(round_)) return false;
  if (round_.lowest_failed() == ranks::Channel::nobody) {
    for (std::size_t kind = 0; kind < argument_kinds && outcome_.ok(); ++kind) {
      if (round_.is_alike(kind)) continue;
      outcome_ =
          invalid_argument(fmt::format("the ranks do not agree on {}: pass the same on all of them",
                                       name_of(static_cast<Argument>(kind))));
    }
    return true;
  }
  failed_ = static_cast<int>(round_.lowest_failed());
  int rank = 0;
  MPI_Comm_rank(communicator_, &rank);
  if (rank == failed_) pack(mine_.error());
  broadcasting_ = true;
  MPI_Ibcast(&message_, sizeof(Message), MPI_BYTE, failed_, communicator_, &request_);
  return test();
}

void Agreement::nap() {
  if (broadcasting_) {
    ranks::yield_or_doze(++naps_);
  } else {
    channel_->nap(round_);
  }
}

void Agreement::pack(const Error& error) {
  message_.offset = error.offset;
  message_.code = static_cast<std::int32_t>(error.code);
  message_.system_error = error.system_error;
  put(message_.operation, error.operation);
  put(message_.file, error.file);
  put(message_.text, error.message);
}

Error Agreement::unpack(int rank) const {
  Error error;
  error.code = static_cast<ErrorCode>(message_.code);
  error.message = message_.text.data();
  error.operation = message_.operation.data();
  error.file = message_.file.data();
  error.offset = message_.offset;
  error.system_error = message_.system_error;
  error.rank = rank;
  return error;
}

namespace {

Status see_through(std::unique_ptr<Agreement>& agreement, double deadline_seconds,
                   ranks::LifeSigns* life) {
  ranks::Patience patience(deadline_seconds, life);
  while (!agreement->test()) {
    if (patience.has_time()) {
      agreement->nap();
      continue;
    }
    // The broadcast may still write into the object, so it is never freed.
    [[maybe_unused]] const auto* const abandoned = agreement.release();
    return patience.passed("the other ranks");
  }
  return agreement->outcome();
}

}  // namespace

Status agree(ranks::Channel& channel, MPI_Comm communicator, const Status& mine,
             const CallFingerprint& fingerprint, double deadline_seconds) {
  auto agreement = std::make_unique<Agreement>();
  agreement->start(channel, communicator, mine, fingerprint);
  return see_through(agreement, deadline_seconds, channel.life());
}

Status agree_to_ask(ranks::Channel& channel, MPI_Comm communicator, const Status& mine,
                    const CallFingerprint& fingerprint, double deadline_seconds,
                    ranks::Channel::Round& round) {
  auto agreement = std::make_unique<Agreement>();
  agreement->start(channel, communicator, mine, fingerprint, true);
  Status agreed = see_through(agreement, deadline_seconds, channel.life());
  if (agreement != nullptr) round = agreement->round();
  return agreed;
}

}  // namespace weir::aggregation
