#include "ranks/waiting.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <ctime>

#include "common/clock.hpp"

namespace weir::ranks {
namespace {

// Yields until a wait counts as long. Few: where there are more ranks than cores, those that wait
// take turns with those that copy, and each turn costs these a switch. The sleep is the shortest
// that the system has (about 60 us).
constexpr std::int64_t short_wait_looks = 20;
constexpr std::int64_t looks_per_clock = 64;
constexpr long sleep_ns = 10000;

}  // namespace

void yield_or_doze(std::int64_t count) {
  if (count < short_wait_looks) {
    ::sched_yield();
  } else {
    const timespec moment{0, sleep_ns};
    ::nanosleep(&moment, nullptr);
  }
}

bool Patience::look_again() {
  ++looks_;
  yield_or_doze(looks_);
  return looks_ % looks_per_clock != 0 || has_time();
}

bool Patience::has_time() {
  const std::int64_t now = monotonic_ns();
  if (began_ns_ == 0) began_ns_ = now;
  return seconds_of(now - began_ns_) < deadline_seconds_;
}

Error deadline_passed(const char* what, double deadline_seconds) {
  Error error;
  error.code = ErrorCode::deadline;
  error.message = fmt::format(
      "waited {:g} s for {}: a rank is missing or hangs; nothing more can be done collectively",
      deadline_seconds, what);
  return error;
}

Status wait_for(MPI_Request& request, double deadline_seconds, const char* what) {
  Patience patience(deadline_seconds);
  for (int done = 0; done == 0;) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done == 0 && !patience.look_again()) return deadline_passed(what, deadline_seconds);
  }
  return {};
}

Status meet(MPI_Comm communicator, double deadline_seconds, const char* what) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(communicator, &request);
  return wait_for(request, deadline_seconds, what);
}

}  // namespace weir::ranks
