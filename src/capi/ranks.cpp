#include "capi/ranks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "common/clock.hpp"
#include "ranks/waiting.hpp"

namespace weir::capi {
namespace {

using ranks::Channel;
using ranks::KeptUntilDone;

constexpr std::size_t text_bytes = 2000;

struct Message {
  std::int64_t code = 0;
  std::array<char, text_bytes> text{};
};

std::string mpi_text(int error) {
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(error, text.data(), &length);
  return {text.data(), static_cast<std::size_t>(length)};
}

Outcome mpi_outcome(int error, const char* what) {
  if (error == MPI_SUCCESS) return {};
  return failure(WEIR_E_IO, fmt::format("{} failed: {}", what, mpi_text(error)));
}

}  // namespace

Outcome Ranks::open(MPI_Comm communicator, double deadline_seconds) {
  deadline_seconds_ = deadline_seconds;
  MPI_Request request = MPI_REQUEST_NULL;
  if (auto begun = mpi_outcome(MPI_Comm_idup(communicator, &details_, &request), "MPI_Comm_idup");
      !begun.ok()) {
    return begun;
  }
  if (auto done = finish(request); !done.ok()) return done;
  MPI_Comm_set_errhandler(details_, MPI_ERRORS_RETURN);
  MPI_Comm_rank(details_, &rank_);
  MPI_Comm_size(details_, &size_);
  first_ = std::make_unique<ranks::Channel>(details_);
  return {};
}

void Ranks::free() {
  if (!broken_ && details_ != MPI_COMM_NULL) MPI_Comm_free(&details_);
}

Outcome Ranks::check_mpi_runs() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized == 0) return {};
  mark_broken();
  return failure(WEIR_E_ARGUMENT,
                 "MPI_Finalize was called before: close the session first (in C++ let it end in a "
                 "block of its own); what its files had not been told yet is lost");
}

void Ranks::mark_broken() {
  broken_ = true;
  if (first_ == nullptr) return;
  if (ranks::LifeSigns* const life = compared_by().life()) life->leave();
}

Outcome Ranks::finish(MPI_Request& request) {
  ranks::Patience patience(deadline_seconds_, first_ == nullptr ? nullptr : compared_by().life());
  while (true) {
    int done = 0;
    if (auto tested = mpi_outcome(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
        !tested.ok()) {
      mark_broken();
      return tested;
    }
    if (done != 0) return {};
    if (!patience.look_again()) return missed_deadline(patience.passed("the other ranks"));
  }
}

Outcome Ranks::missed_deadline(const Error& why) {
  mark_broken();
  return failure(WEIR_E_DEADLINE,
                 fmt::format("rank {}: not all ranks made this call (deadline_seconds {}): {}",
                             rank_, deadline_seconds_, why.message));
}

void Ranks::begin(Channel::Round& round, bool failed, std::uint64_t digest, bool asks) {
  round = Channel::Round(failed ? rank_ : Channel::nobody, asks);
  round.compare(0, static_cast<std::int64_t>(digest));
  compared_by().start(round);
}

bool Ranks::test(Channel::Round& round) { return compared_by().test(round); }

Outcome Ranks::wait(Channel::Round& round) {
  const Status waited = compared_by().wait(round, deadline_seconds_, "the other ranks");
  if (waited.ok()) return {};
  Outcome missed = missed_deadline(waited.error());
  if (round.asks()) missed.text += ", or rank 0 still reads or writes what all wait for";
  return missed;
}

Outcome Ranks::least(std::int64_t mine, std::int64_t& result) {
  KeptUntilDone<std::array<std::int64_t, 2>> numbers;
  (*numbers)[0] = mine;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Iallreduce(&(*numbers)[0], &(*numbers)[1], 1, MPI_INT64_T, MPI_MIN, details_, &request);
  auto done = finish(request);
  result = (*numbers)[1];
  if (!done.ok()) numbers.keep_for_good();
  return done;
}

Outcome Ranks::broadcast(int root, int& code, std::string& text) {
  KeptUntilDone<Message> message;
  if (rank_ == root) {
    message->code = code;
    std::memcpy(message->text.data(), text.data(), std::min(text.size(), text_bytes - 1));
  }
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibcast(&*message, sizeof(Message), MPI_BYTE, root, details_, &request);
  auto done = finish(request);
  if (!done.ok()) {
    message.keep_for_good();
    return done;
  }
  code = static_cast<int>(message->code);
  text = message->text.data();
  return {};
}

Outcome Ranks::share(std::string& text) {
  struct Shared {
    std::int64_t bytes = 0;
    std::string text;
  };
  KeptUntilDone<Shared> shared;
  shared->bytes = static_cast<std::int64_t>(text.size());
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibcast(&shared->bytes, 1, MPI_INT64_T, 0, details_, &request);
  auto done = finish(request);
  if (done.ok()) {
    if (rank_ == 0) shared->text = text;
    shared->text.resize(static_cast<std::size_t>(shared->bytes));
    MPI_Ibcast(shared->text.data(), static_cast<int>(shared->bytes), MPI_CHAR, 0, details_,
               &request);
    done = finish(request);
  }
  if (!done.ok()) {
    shared.keep_for_good();
    return done;
  }
  text = std::move(shared->text);
  return {};
}

Outcome Ranks::common(const Outcome& mine) {
  if (broken_) return mine;
  std::int64_t lowest = Channel::nobody;
  if (auto known = least(mine.ok() ? Channel::nobody : rank_, lowest); !known.ok()) return known;
  return lowest == Channel::nobody ? Outcome{} : failure_of(lowest, mine);
}

Outcome Ranks::failure_of(std::int64_t lowest_failed, const Outcome& mine) {
  Outcome all = mine;
  // Errors of the layers below may name their rank already.
  const std::string name = fmt::format("rank {}: ", rank_);
  if (all.text.find(name) == std::string::npos) all.text.insert(0, name);
  auto told = broadcast(static_cast<int>(lowest_failed), all.code, all.text);
  return told.ok() ? all : told;
}

Outcome Ranks::difference(std::uint64_t digest, const std::string& call) {
  // Compare with rank 0, then let the lowest rank that differs say what it called.
  int unused = 0;
  std::string first = fmt::format("{:016x}", digest) + call;
  if (auto told = broadcast(0, unused, first); !told.ok()) return told;
  const bool differs = first.compare(0, 16, fmt::format("{:016x}", digest)) != 0;
  std::int64_t lowest = Channel::nobody;
  if (auto known = least(differs ? rank_ : Channel::nobody, lowest); !known.ok()) return known;
  std::string other = call;
  if (auto told = broadcast(static_cast<int>(lowest), unused, other); !told.ok()) return told;
  return failure(WEIR_E_MISMATCH,
                 fmt::format("ranks differ: rank 0 called {}, rank {} called {}; every rank makes "
                             "the same calls in the same order with the same arguments",
                             first.substr(16), lowest, other));
}

Outcome Ranks::gather(const std::vector<std::int64_t>& mine, std::vector<std::int64_t>& counts,
                      std::vector<std::int64_t>& all) {
  const auto ranks = static_cast<std::size_t>(size_);
  // Shared by both steps, and left alone after a deadline.
  struct Buffers {
    std::int64_t count = 0;
    std::vector<std::int64_t> mine, counts, all;
    std::vector<int> lengths, starts;
  };
  KeptUntilDone<Buffers> buffers;
  buffers->mine = mine;
  buffers->count = static_cast<std::int64_t>(mine.size());
  buffers->counts.resize(ranks);
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Iallgather(&buffers->count, 1, MPI_INT64_T, buffers->counts.data(), 1, MPI_INT64_T, details_,
                 &request);
  auto done = finish(request);
  if (!done.ok()) {
    buffers.keep_for_good();
    return done;
  }
  std::int64_t total = 0;
  for (const std::int64_t count : buffers->counts) {
    if (count > std::numeric_limits<int>::max() - total) {
      return failure(WEIR_E_UNSUPPORTED,
                     fmt::format("the boxes of all ranks are more than 2^31 numbers: rank {} has "
                                 "{}; give fewer, larger boxes",
                                 buffers->lengths.size(), count));
    }
    buffers->starts.push_back(static_cast<int>(total));
    buffers->lengths.push_back(static_cast<int>(count));
    total += count;
  }
  buffers->all.resize(static_cast<std::size_t>(total));
  MPI_Iallgatherv(buffers->mine.data(), static_cast<int>(buffers->count), MPI_INT64_T,
                  buffers->all.data(), buffers->lengths.data(), buffers->starts.data(), MPI_INT64_T,
                  details_, &request);
  done = finish(request);
  if (!done.ok()) {
    buffers.keep_for_good();
    return done;
  }
  counts = std::move(buffers->counts);
  all = std::move(buffers->all);
  return {};
}

}  // namespace weir::capi
