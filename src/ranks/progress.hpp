// What goes on while a rank waits in the library: the program's own messages, and the requests of
// all sessions that its thread has open. Without that two ranks could wait for each other for ever,
// each in a call that the other one's message or request has to get through first.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "common/status.hpp"
#include "ranks/revocation.hpp"
#include "ranks/waiting.hpp"

namespace weir::ranks {

// A session's requests, as waits of other sessions see them. Each thread has a list of those that
// it used last: a wait is not given the sessions that it has to move, since the progress of
// requests, as that of MPI's messages, belongs to the process and not to one session; and a wait of
// one thread must not call MPI for another thread, so there is no list of the process.
class Background {
 public:
  // `move` makes the requests move on, without waiting for anything.
  explicit Background(std::function<void()> move);
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;
  ~Background() { end(); }

  // From now on the requests move only in calls of their own session.
  void end();

  // Lives as long as the session is in a call, which moves its requests itself. From the first one
  // on, waits of this thread in calls of other sessions do so between calls. Calls of one session
  // do not overlap, but may come from different threads in turn.
  class Call {
   public:
    explicit Call(Background& background);
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    ~Call();

   private:
    Background& background_;
  };

  struct Entry;

 private:
  std::shared_ptr<Entry> entry_;
};

// Moves the requests of this thread's sessions, but for those of sessions that are in a call.
void move_background();

// For every wait, now and then: lets MPI move on, takes what revokes the session, and moves the
// requests of the thread's other sessions.
void keep_moving(Revocation& revocation);

// Looks until `done()` is true, the session is revoked, or the deadline has passed, and keeps
// everything else moving meanwhile. `life`: of the processes that are waited for, so that the
// deadline counts only while they are silent; null: it counts always.
template <typename Done>
[[nodiscard]] Status wait_until(const Done& done, Revocation& revocation, double deadline_seconds,
                                const char* what, LifeSigns* life = nullptr) {
  // Between two looks at notices and at the requests of other sessions.
  constexpr std::int64_t looks_per_progress = 16;
  Patience patience(deadline_seconds, life);
  for (std::int64_t looks = 1; !done(); ++looks) {
    if (looks % looks_per_progress == 0) keep_moving(revocation);
    if (revocation.is_revoked()) return revocation.error();
    if (!patience.look_again()) return patience.passed(what);
  }
  return {};
}

}  // namespace weir::ranks
