// How a simulated rank waits, in place of src/ranks/pauses.cpp: it lets simulated time pass, in
// which other ranks run.
//
// A rank that sleeps on a word wakes exactly when it is woken. A rank that looks for something to
// do looks again when a rank of its node has done something, and when one of its messages has come
// or ended. Nothing but time changes anything else that it looks at, such as a deadline: it looks
// again, too, when it has waited twice as long.
#include <algorithm>
#include <simgrid/s4u.hpp>

#include "library/simulated_rank.hpp"
#include "ranks/waiting.hpp"
#include "ranks/wake_up.hpp"

namespace weir::ranks {
namespace {

constexpr double first_pause_seconds = 1e-6;
// A rank looks at everything that it is not told of as rarely as is allowed.
constexpr double longest_pause_seconds = 0.9;
constexpr long longest_nap_ns = 900'000'000;

// Lets time pass until the rank has to look again.
void pause(sim::SimulatedRank& rank, double now) {
  const double seconds = std::max(first_pause_seconds, now - rank.looks_since);
  rank.node->looking.push_back(&rank);
  const bool timed_out = rank.woken->acquire_timeout(std::min(seconds, longest_pause_seconds));
  // A rank that is woken at the very time at which its pause ends is no longer in the list, and
  // takes the wake-up here. Its next pause would otherwise end at once and leave it in the list, so
  // that each later wake-up would be one too many.
  if (timed_out && std::erase(rank.node->looking, &rank) == 0) rank.woken->acquire();
}

}  // namespace

void yield_or_doze(std::int64_t count) {
  sim::SimulatedRank& rank = sim::this_rank();
  const double now = simgrid::s4u::Engine::get_clock();
  const bool has_missed = rank.node->changes != rank.seen_changes || rank.news != rank.seen_news;
  // Callers count from 1 again after they have done something.
  if (count <= 1) {
    sim::wake_looking(*rank.node);
    rank.looks_since = now;
  }
  // Time has passed in this look, in which the rank could not be woken.
  if (!has_missed) pause(rank, now);
  rank.seen_changes = rank.node->changes;
  rank.seen_news = rank.news;
}

long nap_ns(std::int64_t /*ranks_per_core*/, std::int64_t /*naps_before*/) {
  return longest_nap_ns;
}

// Nothing changes while one of the simulated ranks, which share a thread, polls.
bool changes_soon(const std::atomic<std::uint32_t>& word, std::uint32_t value,
                  std::int64_t /*ranks_per_core*/) {
  return word.load(std::memory_order_acquire) != value;
}

void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t value, long nanoseconds) {
  sim::wake_looking(*sim::this_rank().node);
  if (word.load(std::memory_order_seq_cst) != value) return;
  auto& sleepers = sim::this_rank().system->sleepers;
  const auto woken = simgrid::s4u::Semaphore::create(0);
  sleepers[&word].push_back(woken);
  const bool timed_out = woken->acquire_timeout(static_cast<double>(nanoseconds) * 1e-9);
  if (!timed_out) return;  // who woke it has taken it from the list
  const auto of_word = sleepers.find(&word);
  if (of_word == sleepers.end()) return;
  std::erase(of_word->second, woken);
  if (of_word->second.empty()) sleepers.erase(of_word);
}

void futex_wake(std::atomic<std::uint32_t>& word, int most) {
  auto& sleepers = sim::this_rank().system->sleepers;
  const auto of_word = sleepers.find(&word);
  if (of_word == sleepers.end()) return;
  auto woken = std::move(of_word->second);
  sleepers.erase(of_word);
  const auto count = std::min(woken.size(), static_cast<std::size_t>(most));
  if (count < woken.size()) {
    sleepers[&word].assign(woken.begin() + static_cast<std::ptrdiff_t>(count), woken.end());
    woken.resize(count);
  }
  for (const auto& one : woken) one->release();
}

}  // namespace weir::ranks
