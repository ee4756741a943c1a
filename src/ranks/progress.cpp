#include "ranks/progress.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "ranks/thread_sessions.hpp"

namespace weir::ranks {

Background::Background(std::function<void()> move) : entry_(std::make_shared<Entry>()) {
  entry_->move = std::move(move);
}

void Background::end() {
  entry_->take();
  entry_->move = nullptr;
  entry_->give_back();
  // Lists of other threads drop the entry when they are next traversed.
  std::erase(sessions_of_this_thread(), entry_);
}

Background::Call::Call(Background& background) : background_(background) {
  Entry& entry = *background_.entry_;
  entry.take();
  if (!entry.move) return;
  Sessions& sessions = sessions_of_this_thread();
  entry.list = &sessions;
  if (std::ranges::find(sessions, background_.entry_) == sessions.end()) {
    sessions.push_back(background_.entry_);
  }
}

Background::Call::~Call() { background_.entry_->give_back(); }

void move_background() {
  Sessions& entries = sessions_of_this_thread();
  // The loop uses an index, since a request that is moved may wait and enter this function again.
  for (std::size_t number = 0; number < entries.size(); ++number) {
    const std::shared_ptr<Background::Entry> entry = entries[number];
    if (!entry->try_to_take()) continue;
    const bool is_here = entry->move && entry->list == &entries;
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
