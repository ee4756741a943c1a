#include "ranks/progress.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

#include "ranks/waiting.hpp"

namespace weir::ranks {

struct Background::Entry {
  // Set by a call of the session, or by a wait that moves its requests; only the holder may use the
  // other members.
  std::atomic<bool> taken{false};
  std::function<void()> move;  // empty: the session has ended
  std::thread::id thread;      // the thread whose list has this entry

  [[nodiscard]] bool try_to_take() { return !taken.exchange(true, std::memory_order_acquire); }
  void take() {
    for (std::int64_t looks = 0; !try_to_take(); ++looks) yield_or_doze(looks);
  }
  void give_back() { taken.store(false, std::memory_order_release); }
};

namespace {

using Entries = std::vector<std::shared_ptr<Background::Entry>>;

Entries& of_this_thread() {
  thread_local Entries entries;
  return entries;
}

}  // namespace

Background::Background(std::function<void()> move) : entry_(std::make_shared<Entry>()) {
  entry_->move = std::move(move);
}

void Background::end() {
  entry_->take();
  entry_->move = nullptr;
  entry_->give_back();
  // Lists of other threads drop the entry when they are next traversed.
  std::erase(of_this_thread(), entry_);
}

Background::Call::Call(Background& background) : background_(background) {
  Entry& entry = *background_.entry_;
  entry.take();
  if (entry.thread == std::this_thread::get_id() || !entry.move) return;
  entry.thread = std::this_thread::get_id();
  of_this_thread().push_back(background_.entry_);
}

Background::Call::~Call() { background_.entry_->give_back(); }

void move_background() {
  Entries& entries = of_this_thread();
  // The loop uses an index, since a request that is moved may wait and enter this function again.
  for (std::size_t number = 0; number < entries.size(); ++number) {
    const std::shared_ptr<Background::Entry> entry = entries[number];
    if (!entry->try_to_take()) continue;
    const bool is_here = entry->move && entry->thread == std::this_thread::get_id();
    if (is_here) entry->move();
    entry->give_back();
    if (!is_here) std::erase(entries, entry);
  }
}

void keep_moving(Revocation& revocation) {
  revocation.look();
  move_background();
}

}  // namespace weir::ranks
