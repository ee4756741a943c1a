#include "ranks/thread_sessions.hpp"

namespace weir::ranks {

Sessions& sessions_of_this_thread() {
  thread_local Sessions sessions;
  return sessions;
}

}  // namespace weir::ranks
