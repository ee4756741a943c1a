#include "aggregation/node_board.hpp"

#include <algorithm>
#include <array>

#include "array/fingerprint.hpp"
#include "ranks/progress.hpp"

namespace weir::aggregation {
namespace {

constexpr std::size_t pointers_bytes = NodeBoard::most_files * sizeof(NodeBoard::Pointer);

}  // namespace

Result<std::unique_ptr<NodeBoard>> NodeBoard::create(CollectiveState& state, CallQueue& calls) {
  if (state.group->nodes() > 1) {
    return Error(ErrorCode::unsupported, "a board needs the memory of one node");
  }
  CallQueue::Turn turn(calls, Call::of("NodeBoard::create()"));
  if (!turn.entered().ok()) return turn.entered().error();
  auto memory = state.group->share_more(static_cast<std::int64_t>(
      pointers_bytes + sizeof(Place) * static_cast<std::size_t>(state.ranks)));
  if (!memory && ranks::ends_communication(memory.error())) {
    note_broken(state, memory.error());
    turn.end(memory.error());
    return memory.error();
  }
  Status agreed = agree_on(state, memory ? Status() : Status(memory.error()));
  turn.end(agreed);
  if (!agreed.ok()) return agreed.error();
  return std::unique_ptr<NodeBoard>(new NodeBoard(state, calls, std::move(memory).value()));
}

NodeBoard::Pointer& NodeBoard::pointer_of(std::size_t file) const {
  return reinterpret_cast<Pointer*>(memory_->data())[file];
}

NodeBoard::Place& NodeBoard::place_of(int rank) const {
  return reinterpret_cast<Place*>(memory_->data() + pointers_bytes)[rank];
}

std::atomic<std::int64_t>& NodeBoard::word_of(std::size_t file, int rank) const {
  return place_of(rank).words.at(file);
}

Status NodeBoard::wait_until(const std::function<bool()>& done, const char* what) const {
  return ranks::wait_until(done, state_.group->revocation(), state_.settings.deadline_seconds, what,
                           state_.group->life());
}

Result<std::vector<std::int64_t>> NodeBoard::gathered(std::span<const std::int64_t> mine) {
  std::vector<std::int64_t> all(mine.size() * static_cast<std::size_t>(state_.ranks));
  std::size_t from = 0;
  do {
    const auto some = mine.subspan(from, std::min(most_numbers, mine.size() - from));
    if (Status told = tell(some, mine.size(), from, all); !told.ok()) return told.error();
    from += some.size();
  } while (from < mine.size());
  return all;
}

// Tells the others a part of this rank's numbers, which begins behind `from` of `each`.
Status NodeBoard::tell(std::span<const std::int64_t> mine, std::size_t each, std::size_t from,
                       std::vector<std::int64_t>& all) {
  half_ = 1 - half_;
  std::ranges::copy(mine, place_of(state_.rank).halves.at(half_).begin());
  array::Fingerprint digest;
  digest.add(static_cast<std::int64_t>(each));
  const CallQueue::Turn turn(
      calls_, Call{.digest = digest.value(), .describe = [] {
                     return std::string("a call in which the ranks tell each other numbers");
                   }});
  if (!turn.entered().ok()) return turn.entered();
  for (int rank = 0; rank < state_.ranks; ++rank) {
    const Half& told = place_of(rank).halves.at(half_);
    std::copy_n(
        told.begin(), mine.size(),
        all.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(rank) * each + from));
  }
  return {};
}

}  // namespace weir::aggregation
