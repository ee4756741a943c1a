// The sessions of a thread, as its waits see them (progress.hpp).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "ranks/progress.hpp"
#include "ranks/waiting.hpp"

namespace weir::ranks {

using Sessions = std::vector<std::shared_ptr<Background::Entry>>;

struct Background::Entry {
  // Set by a call of the session, or by a wait that moves its requests; only the holder may use the
  // other members.
  std::atomic<bool> taken{false};
  std::function<void()> move;      // empty: the session has ended
  const Sessions* list = nullptr;  // of the thread that has this entry

  [[nodiscard]] bool try_to_take() { return !taken.exchange(true, std::memory_order_acquire); }
  void take() {
    for (std::int64_t looks = 0; !try_to_take(); ++looks) yield_or_doze(looks);
  }
  void give_back() { taken.store(false, std::memory_order_release); }
};

// Returns the list of the calling thread. Simulated ranks share one thread, and each has a list of
// its own (sim/library/thread_sessions.cpp).
[[nodiscard]] Sessions& sessions_of_this_thread();

}  // namespace weir::ranks
