#include "aggregation/collective_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include "aggregation/agreement.hpp"
#include "ranks/error_message.hpp"
#include "ranks/messages.hpp"
#include "ranks/waiting.hpp"

namespace weir::aggregation {
namespace {

// Of one message: its length is an int.
constexpr std::size_t most_at_once = std::size_t{1} << 30U;

constexpr std::string_view found_mark = "found";
constexpr std::string_view error_mark = "error";

std::string message_of(const Result<std::string>& found) {
  if (found) return std::string(found_mark) + found.value();
  Error error = found.error();
  error.rank = 0;
  return std::string(error_mark) + ranks::ErrorMessage::of(error).bytes();
}

// Without throwing: the others wait for the answer.
Result<std::string> found_by(const std::function<Result<std::string>()>& find) {
  Error error;
  error.code = ErrorCode::insufficient;
  try {
    return find();
  } catch (const std::exception& thrown) {
    error.message = fmt::format("rank 0 could not do what it was asked for: {}", thrown.what());
  }
  return error;
}

Result<std::string> found_in(const std::string& message) {
  if (message.starts_with(found_mark)) return message.substr(found_mark.size());
  return ranks::ErrorMessage::of_bytes(std::string_view(message).substr(error_mark.size())).error();
}

}  // namespace

Error broken_collective() {
  Error error;
  error.code = ErrorCode::deadline;
  error.message =
      "an earlier collective call missed its deadline or MPI failed in it: nothing more can be "
      "done here";
  return error;
}

void note_broken(CollectiveState& state, const Error& error) {
  if (ranks::ends_communication(error)) state.broken = true;
}

Status agree_on(CollectiveState& state, const Status& mine, const CallFingerprint& fingerprint,
                std::int64_t unstored) {
  if (state.broken) return broken_collective();
  Status agreed = agree(state.group->agreements(), state.communicator, mine, fingerprint,
                        state.settings.deadline_seconds, unstored);
  if (!agreed.ok()) note_broken(state, agreed.error());
  return agreed;
}

Status share(CollectiveState& state, std::string& text, const char* what) {
  if (state.broken) return broken_collective();
  Status shared = state.group->agreements().share(text, state.settings.deadline_seconds, what);
  if (!shared.ok()) state.broken = true;
  return shared;
}

Result<std::string> ask_rank_0(CollectiveState& state, const Asked* asked, const Status& possible,
                               const CallFingerprint& fingerprint,
                               const std::function<Result<std::string>()>& find, const char* what) {
  if (state.broken) return broken_collective();
  const double deadline = state.settings.deadline_seconds;
  ranks::Channel* channel = &state.group->agreements();
  ranks::Channel::Round round;
  if (asked != nullptr) {
    channel = &asked->channel;
    round = asked->round;
  } else {
    Status agreed =
        agree_to_ask(*channel, state.communicator, possible, fingerprint, deadline, round);
    if (!agreed.ok()) {
      note_broken(state, agreed.error());
      return agreed.error();
    }
  }
  std::string message;
  if (state.rank == 0) message = message_of(possible.ok() ? found_by(find) : possible.error());
  if (Status told = channel->answer(round, message, deadline, what); !told.ok()) {
    state.broken = true;
    return told.error();
  }
  return found_in(message);
}

Result<std::string> told_by_rank_0(CollectiveState& state, const Result<std::string>& found,
                                   const char* what) {
  if (state.broken) return broken_collective();
  std::string message;
  if (state.rank == 0) message = message_of(found);
  if (Status shared = share(state, message, what); !shared.ok()) return shared.error();
  return found_in(message);
}

Result<std::vector<std::int64_t>> gather_at_rank_0(CollectiveState& state,
                                                   const std::vector<std::int64_t>& mine,
                                                   const char* what) {
  struct Gathering {
    std::vector<std::int64_t> mine;
    int count = 0;
    std::vector<int> counts;
    std::vector<int> places;
    std::vector<std::int64_t> all;
  };
  ranks::KeptUntilDone<Gathering> kept;
  kept->mine = mine;
  const bool receives = state.rank == 0;
  Status possible;
  if (mine.size() > most_at_once / sizeof(std::int64_t)) {
    possible = invalid_argument(fmt::format("{}: too much for one message", what));
  }
  kept->count = possible.ok() ? static_cast<int>(mine.size()) : 0;
  if (receives) kept->counts.resize(static_cast<std::size_t>(state.ranks));
  ranks::Revocation& revocation = state.group->revocation();
  ranks::Pending pending;
  const auto wait = [&](Status done) {
    if (!done.ok()) revocation.revoke(done.error());
    if (done.ok()) {
      done = ranks::wait_for(pending, revocation, state.settings.deadline_seconds, what,
                             state.group->life());
    }
    if (!done.ok()) {
      kept.keep_for_good();
      state.broken = true;
    }
    return done;
  };
  if (Status done = wait(ranks::gather_at_first(pending, &kept->count, 1, kept->counts.data(),
                                                MPI_INT, state.communicator));
      !done.ok()) {
    return done.error();
  }
  std::int64_t sum = 0;
  for (const int count : kept->counts) {
    kept->places.push_back(static_cast<int>(sum));
    sum += count;
  }
  if (sum > INT32_MAX) {
    possible = invalid_argument(fmt::format("{}: too many for rank 0", what));
  }
  CallFingerprint call;
  call.add(Argument::call, what);
  if (Status agreed = agree_on(state, possible, call); !agreed.ok()) return agreed.error();
  kept->all.resize(static_cast<std::size_t>(sum));
  if (Status done =
          wait(ranks::gather_at_first(pending, kept->mine.data(), kept->count, kept->all.data(),
                                      kept->counts, kept->places, MPI_INT64_T, state.communicator));
      !done.ok()) {
    return done.error();
  }
  return std::move(kept->all);
}

bool tells_of_loss(const Error& error) {
  constexpr std::array<std::string_view, 4> operations = {"fdatasync", "fsync", "syncfs", "close"};
  return std::ranges::find(operations, error.operation) != operations.end();
}

void learn_losses(CollectiveState& state, const Status& agreed) {
  if (agreed.ok() || !tells_of_loss(agreed.error())) return;
  state.engines->lose(agreed.error().file, agreed.error());
}

storage::SyncedHere begin_sync(CollectiveState& state) {
  NodeDescriptors* const descriptors = state.group->descriptors();
  return descriptors != nullptr ? descriptors->begin_sync() : nullptr;
}

void forget_descriptors(CollectiveState& state, std::uint64_t file_number) {
  NodeDescriptors* const descriptors = state.group->descriptors();
  if (descriptors != nullptr) descriptors->forget(file_number);
}

void end_current(CollectiveState& state) {
  if (state.current != nullptr) (void)state.current->wait();
}

}  // namespace weir::aggregation
