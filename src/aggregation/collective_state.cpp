#include "aggregation/collective_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include "aggregation/agreement.hpp"
#include "ranks/error_message.hpp"
#include "ranks/waiting.hpp"

namespace weir::aggregation {
namespace {

constexpr std::string_view found_mark = "found";
constexpr std::string_view error_mark = "error";

std::string message_of(const Result<std::string>& found) {
  if (found) return std::string(found_mark) + found.value();
  Error error = found.error();
  error.rank = 0;
  return std::string(error_mark) + ranks::ErrorMessage::of(error).bytes();
}

// Calls `find` and turns exceptions into errors, since the other ranks wait for the answer.
Result<std::string> found_by(const std::function<Result<std::string>()>& find) {
  Error error;
  error.code = ErrorCode::insufficient;
  try {
    return find();
  } catch (const std::exception& thrown) {
    error.message = fmt::format("rank 0 failed: {}", thrown.what());
  }
  return error;
}

Result<std::string> found_in(const std::string& message) {
  if (message.starts_with(found_mark)) return message.substr(found_mark.size());
  return ranks::ErrorMessage::of_bytes(std::string_view(message).substr(error_mark.size())).error();
}

}  // namespace

std::int64_t waited_for_stager_ns(const CollectiveState& state) {
  SessionStaging* const staging =
      state.staging != nullptr ? state.staging.get() : state.lost_staging.get();
  return staging == nullptr ? 0 : staging->stager().waited_ns();
}

Error broken_collective() {
  Error error;
  error.code = ErrorCode::deadline;
  error.message =
      "an earlier collective call missed its deadline, or MPI failed in it: close the session";
  return error;
}

void note_broken(CollectiveState& state, const Error& error) {
  if (ranks::ends_communication(error)) state.broken = true;
}

void release_asked(CollectiveState& state) {
  if (state.asked && state.group->own_place() == 0) state.group->openings().release(*state.asked);
  state.asked.reset();
}

Status agree_on(CollectiveState& state, const Status& mine) {
  if (state.broken) return broken_collective();
  release_asked(state);
  Status agreed = agree(state.group->agreements(), state.communicator, {.possible = mine},
                        state.settings.deadline_seconds);
  if (!agreed.ok()) note_broken(state, agreed.error());
  return agreed;
}

Status finish(CollectiveState& state, const Status& begun, ranks::Pending& pending,
              const char* what) {
  Status done = ranks::finish(
      begun, pending,
      {state.group->revocation(), state.settings.deadline_seconds, what, state.group->life()});
  if (!done.ok()) state.broken = true;
  return done;
}

Status share(CollectiveState& state, std::string& text, const char* what) {
  if (state.broken) return broken_collective();
  Status shared = state.group->agreements().share(text, state.settings.deadline_seconds, what);
  if (!shared.ok()) state.broken = true;
  return shared;
}

Result<std::string> ask_rank_0(CollectiveState& state, const Status& possible,
                               const std::function<Result<std::string>()>& find, const char* what) {
  if (state.broken) return broken_collective();
  Result<std::string> found = possible.ok() ? std::string() : Result<std::string>(possible.error());
  if (state.rank == 0 && possible.ok()) found = found_by(find);
  return told_by_rank_0(state, found, what);
}

Result<std::string> told_by_rank_0(CollectiveState& state, const Result<std::string>& found,
                                   const char* what) {
  if (state.broken) return broken_collective();
  std::string message;
  if (state.rank == 0) message = message_of(found);
  Status told;
  if (state.asked) {
    const ranks::Channel::Round asked = *std::exchange(state.asked, std::nullopt);
    told = state.group->openings().answer(asked, message, state.settings.deadline_seconds, what);
    if (!told.ok()) state.broken = true;
  } else {
    told = share(state, message, what);
  }
  if (!told.ok()) return told.error();
  return found_in(message);
}

namespace {

// Returns the largest number of numbers that each rank gives in a round, such that all ranks
// together give at most `most_together`; at least 1. `left`: how many numbers each rank has still
// to give.
std::int64_t numbers_of_each(const std::vector<std::int64_t>& left, std::int64_t most_together) {
  const auto given_of = [&](std::int64_t each) {
    std::int64_t given = 0;
    for (const std::int64_t one : left) given += std::min(one, each);
    return given;
  };
  std::int64_t each = *std::ranges::max_element(left);
  if (given_of(each) <= most_together) return each;
  std::int64_t least = 1;
  while (each - least > 1) {
    const std::int64_t middle = least + (each - least) / 2;
    (given_of(middle) <= most_together ? least : each) = middle;
  }
  return least;
}

// Called by rank 0: returns numbers_of_each() for every round until nothing is left.
std::vector<std::int64_t> rounds_for(std::vector<std::int64_t> left, std::int64_t most_together) {
  std::vector<std::int64_t> rounds;
  while (std::ranges::any_of(left, [](std::int64_t one) { return one > 0; })) {
    rounds.push_back(numbers_of_each(left, most_together));
    for (std::int64_t& one : left) one -= std::min(one, rounds.back());
  }
  return rounds;
}

// The counts of a round and their positions, in the form that MPI takes.
struct GatheredRound {
  std::vector<int> counts;
  std::vector<int> places;
  std::int64_t numbers = 0;
};

GatheredRound gathered_round(const std::vector<std::int64_t>& left, std::int64_t each) {
  GatheredRound round;
  for (const std::int64_t one : left) {
    round.counts.push_back(static_cast<int>(std::min(one, each)));
    round.places.push_back(static_cast<int>(round.numbers));
    round.numbers += round.counts.back();
  }
  return round;
}

}  // namespace

Result<std::vector<std::int64_t>> gather_at_rank_0(CollectiveState& state,
                                                   const std::vector<std::int64_t>& mine,
                                                   const char* what, std::int64_t most_together) {
  struct Gathering {
    std::vector<std::int64_t> mine;
    std::int64_t count = 0;
    std::vector<std::int64_t> left;   // on rank 0: remaining count of each rank
    std::vector<std::int64_t> round;  // on rank 0: data received in a round
    std::vector<int> counts;
    std::vector<int> places;
  };
  ranks::KeptUntilDone<Gathering> kept;
  kept->mine = mine;
  kept->count = std::ssize(mine);
  const bool receives = state.rank == 0;
  if (receives) kept->left.resize(static_cast<std::size_t>(state.ranks));
  ranks::Pending pending;
  const auto wait = [&](const Status& begun) {
    Status done = finish(state, begun, pending, what);
    if (!done.ok()) kept.keep_for_good();
    return done;
  };
  if (Status done = wait(ranks::gather_at_first(pending, &kept->count, 1, kept->left.data(),
                                                MPI_INT64_T, state.communicator));
      !done.ok()) {
    return done.error();
  }
  // All ranks have to know the number of rounds, and whether rank 0 has memory for the data.
  std::vector<std::int64_t> all;
  std::vector<std::int64_t> next_of_rank;  // position in `all`
  const auto prepared = [&]() -> Result<std::string> {
    return found_by([&]() -> Result<std::string> {
      std::int64_t sum = 0;
      for (const std::int64_t one : kept->left) {
        next_of_rank.push_back(sum);
        sum += one;
      }
      all.resize(static_cast<std::size_t>(sum));
      const auto rounds = rounds_for(kept->left, most_together);
      return std::string(reinterpret_cast<const char*>(rounds.data()),
                         rounds.size() * sizeof(std::int64_t));
    });
  };
  const auto told = told_by_rank_0(state, receives ? prepared() : std::string(), what);
  if (!told) return told.error();
  std::vector<std::int64_t> rounds(told.value().size() / sizeof(std::int64_t));
  if (!rounds.empty()) {  // memcpy() requires pointers even for 0 bytes
    std::memcpy(rounds.data(), told.value().data(), rounds.size() * sizeof(std::int64_t));
  }
  std::int64_t given = 0;
  for (const std::int64_t each : rounds) {
    const std::int64_t count = std::min(each, kept->count - given);
    if (receives) {
      GatheredRound round = gathered_round(kept->left, each);
      kept->counts = std::move(round.counts);
      kept->places = std::move(round.places);
      kept->round.resize(static_cast<std::size_t>(round.numbers));
    }
    if (Status done = wait(ranks::gather_at_first(
            pending, kept->mine.data() + given, static_cast<int>(count), kept->round.data(),
            kept->counts, kept->places, MPI_INT64_T, state.communicator));
        !done.ok()) {
      return done.error();
    }
    given += count;
    for (std::size_t rank = 0; rank < kept->counts.size(); ++rank) {
      std::copy_n(kept->round.begin() + kept->places[rank], kept->counts[rank],
                  all.begin() + next_of_rank[rank]);
      next_of_rank[rank] += kept->counts[rank];
      kept->left[rank] -= kept->counts[rank];
    }
  }
  return all;
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

}  // namespace weir::aggregation
