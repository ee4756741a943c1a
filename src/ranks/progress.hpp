// Makes progress while a rank waits in the library, on the program's own messages and the
// requests of all sessions that its thread has open. Otherwise two ranks could wait for each other
// indefinitely, each in a call that the other one's message or request has to pass first.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "common/status.hpp"
#include "ranks/revocation.hpp"
#include "ranks/waiting.hpp"

namespace weir::ranks {

// The requests of a session, as waits of other sessions see them. Each thread has a list of the
// sessions whose latest call it made. A wait does not get the sessions that it has to move as an
// argument, since the progress of requests, like that of MPI messages, belongs to the process and
// not to one session. The list is not one of the process, since a wait of one thread must not call
// MPI for another thread.
class Background {
 public:
  // `move` makes progress on the requests, without waiting for anything.
  explicit Background(std::function<void()> move);
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;
  ~Background() { end(); }

  // Afterwards the requests make progress only in calls of their own session.
  void end();

  // Lives while the session is in a call, which makes progress on the session's requests itself.
  // After the first Call, waits of this thread in calls of other sessions make progress on them
  // between the session's calls. Calls of one session do not overlap, but may come from different
  // threads in turn.
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

// Makes progress on the requests of this thread's sessions, except for sessions that are in a call.
void move_background();

// Called by every wait, now and then: lets MPI make progress, receives notices that revoke the
// session, and makes progress on the requests of the thread's other sessions.
void keep_moving(Revocation& revocation);

// Polls until `done()` is true, the session is revoked, or the deadline has passed, and keeps
// everything else moving meanwhile. `life`: signs of the processes that are waited for, so that the
// deadline counts only while they are silent; if null, it always counts.
template <typename Done>
[[nodiscard]] Status wait_until(const Done& done, Revocation& revocation, double deadline_seconds,
                                const char* what, LifeSigns* life = nullptr) {
  // Number of polls from one check of notices and of other sessions' requests to the next.
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
