#include "aggregation/collective_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "aggregation/agreement.hpp"
#include "aggregation/waiting.hpp"
#include "storage/file_targets.hpp"

namespace weir::aggregation {
namespace {

// Of one message: its length is an int.
constexpr std::size_t most_at_once = std::size_t{1} << 30U;

}  // namespace

Error broken_collective() {
  Error error;
  error.code = ErrorCode::deadline;
  error.message = "an earlier collective call missed its deadline: nothing more can be done here";
  return error;
}

Status agree_on(CollectiveState& state, const Status& mine, const CallFingerprint& fingerprint) {
  if (state.broken) return broken_collective();
  Status agreed = agree(state.communicator, mine, fingerprint, state.settings.deadline_seconds);
  if (!agreed.ok() && agreed.error().code == ErrorCode::deadline) state.broken = true;
  return agreed;
}

Status share(CollectiveState& state, std::string& text, const char* what) {
  auto bytes = static_cast<std::int64_t>(text.size());
  const auto broadcast = [&](void* data, std::size_t count, MPI_Datatype type) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Ibcast(data, static_cast<int>(count), type, 0, state.communicator, &request);
    Status done = wait_for(request, state.settings.deadline_seconds, what);
    if (!done.ok()) state.broken = true;
    return done;
  };
  if (Status done = broadcast(&bytes, 1, MPI_INT64_T); !done.ok()) return done;
  text.resize(static_cast<std::size_t>(bytes));
  for (std::size_t sent = 0; sent < text.size(); sent += most_at_once) {
    const std::size_t part = std::min(most_at_once, text.size() - sent);
    if (Status done = broadcast(text.data() + sent, part, MPI_CHAR); !done.ok()) return done;
  }
  return {};
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
  KeptUntilDone<Gathering> kept;
  kept->mine = mine;
  const bool receives = state.rank == 0;
  Status possible;
  if (mine.size() > most_at_once / sizeof(std::int64_t)) {
    possible = invalid_argument(fmt::format("{}: too much for one message", what));
  }
  kept->count = possible.ok() ? static_cast<int>(mine.size()) : 0;
  if (receives) kept->counts.resize(static_cast<std::size_t>(state.ranks));
  const auto wait = [&](MPI_Request& request) {
    Status done = wait_for(request, state.settings.deadline_seconds, what);
    if (!done.ok()) {
      kept.keep_for_good();
      state.broken = true;
    }
    return done;
  };
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Igather(&kept->count, 1, MPI_INT, kept->counts.data(), 1, MPI_INT, 0, state.communicator,
              &request);
  if (Status done = wait(request); !done.ok()) return done.error();
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
  MPI_Igatherv(kept->mine.data(), kept->count, MPI_INT64_T, kept->all.data(), kept->counts.data(),
               kept->places.data(), MPI_INT64_T, 0, state.communicator, &request);
  if (Status done = wait(request); !done.ok()) return done.error();
  return std::move(kept->all);
}

Result<topology::FileTargets> share_targets(CollectiveState& state, const std::string& path) {
  KeptUntilDone<std::array<std::int64_t, 3>> told;
  if (state.rank == 0) {
    if (const auto asked = storage::file_targets(path)) {
      *told = {asked.value().count, asked.value().stripe_bytes, asked.value().lock_bytes};
    }
  }
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibcast(told->data(), 3, MPI_INT64_T, 0, state.communicator, &request);
  Status done = wait_for(request, state.settings.deadline_seconds, "how the array's files lie");
  if (!done.ok()) {
    told.keep_for_good();
    state.broken = true;
    return done.error();
  }
  // 0 targets: nothing was told.
  return topology::FileTargets{std::max<std::int64_t>(1, (*told)[0]), (*told)[1], (*told)[2]};
}

void end_current(CollectiveState& state) {
  if (state.current != nullptr) (void)state.current->wait();
}

}  // namespace weir::aggregation
