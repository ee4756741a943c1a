#include "measurement/common_start.hpp"

#include <algorithm>
#include <array>
#include <ctime>

#include "common/clock.hpp"

namespace weir::bench {
namespace {

// Bounds of the wait after the last rank's arrival.
constexpr std::int64_t least_wait_ns = 1'000'000;
constexpr std::int64_t most_wait_ns = 1'000'000'000;

void sleep_until(std::int64_t monotonic) {
  constexpr std::int64_t second = 1'000'000'000;
  const timespec until{monotonic / second, monotonic % second};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) != 0) {
  }
}

}  // namespace

Status CommonStart::wait(MPI_Comm communicator, std::int64_t deadline_ns) {
  const std::array<std::int64_t, 2> own{monotonic_ns() + offset_.offset_ns, late_ns_};
  std::array<std::int64_t, 2> largest{};
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Iallreduce(own.data(), largest.data(), 2, MPI_INT64_T, MPI_MAX, communicator, &request);
  if (Status status = wait_for(request, deadline_ns, "barrier", Waiting::asleep); !status) {
    return status;
  }
  const std::int64_t last_came_ns = largest[0] - offset_.offset_ns;
  late_ns_ = monotonic_ns() - last_came_ns;
  wait_ns_ = std::clamp(2 * largest[1], least_wait_ns, most_wait_ns);
  sleep_until(last_came_ns + wait_ns_);
  return {};
}

void CommonStart::leave_processor() const { sleep_until(monotonic_ns() + wait_ns_); }

}  // namespace weir::bench
