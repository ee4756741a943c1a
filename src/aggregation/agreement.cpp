#include "aggregation/agreement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>

#include "aggregation/waiting.hpp"

namespace weir::aggregation {
namespace {

template <std::size_t size>
void put(std::array<char, size>& field, const std::string& text) {
  field.fill('\0');
  std::copy_n(text.begin(), std::min(text.size(), size - 1), field.begin());
}

}  // namespace

void Agreement::start(Channel& channel, MPI_Comm communicator, const Status& mine,
                      const CallFingerprint& fingerprint) {
  channel_ = &channel;
  communicator_ = communicator;
  broadcasting_ = false;
  mine_ = mine;
  outcome_ = {};
  int rank = 0;
  MPI_Comm_rank(communicator, &rank);
  round_.mine = {};
  round_.mine[0] = mine.ok() ? none_failed : rank;
  for (std::size_t kind = 0; kind < argument_kinds; ++kind) {
    round_.mine.at(1 + 2 * kind) = fingerprint.of(kind);
    round_.mine.at(2 + 2 * kind) = -fingerprint.of(kind);
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
  const Channel::Numbers& least = round_.least;
  if (least[0] == none_failed) {
    for (std::size_t kind = 0; kind < argument_kinds && outcome_.ok(); ++kind) {
      if (least.at(1 + 2 * kind) == -least.at(2 + 2 * kind)) continue;
      outcome_ =
          invalid_argument(fmt::format("the ranks do not agree on {}: pass the same on all of them",
                                       name_of(static_cast<Argument>(kind))));
    }
    return true;
  }
  failed_ = static_cast<int>(least[0]);
  int rank = 0;
  MPI_Comm_rank(communicator_, &rank);
  if (rank == failed_) pack(mine_.error());
  broadcasting_ = true;
  MPI_Ibcast(&message_, sizeof(Message), MPI_BYTE, failed_, communicator_, &request_);
  return test();
}

void Agreement::nap() {
  if (broadcasting_) {
    yield_or_doze(++round_.naps);
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

Status agree(Channel& channel, MPI_Comm communicator, const Status& mine,
             const CallFingerprint& fingerprint, double deadline_seconds) {
  auto agreement = std::make_unique<Agreement>();
  agreement->start(channel, communicator, mine, fingerprint);
  Patience patience(deadline_seconds);
  while (!agreement->test()) {
    if (patience.has_time()) {
      agreement->nap();
      continue;
    }
    // The broadcast may still write into the object, so it is never freed.
    [[maybe_unused]] const auto* const abandoned = agreement.release();
    return deadline_passed("the other ranks", deadline_seconds);
  }
  return agreement->outcome();
}

}  // namespace weir::aggregation
