// The one clock of Weir's measurements: CLOCK_MONOTONIC of this process, in nanoseconds.
//
// The clock's origin differs between hosts (and between time namespaces of one host); times of
// different ranks are compared only after bench/measurement/clock_offset.hpp has estimated the
// offsets.
#pragma once

#include <cstdint>
#include <ctime>
#include <string>

namespace weir {

[[nodiscard]] inline std::int64_t monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

[[nodiscard]] inline double seconds_of(std::int64_t nanoseconds) {
  return static_cast<double>(nanoseconds) * 1e-9;
}

// Returns the wall-clock time as "2026-11-21T02:43:07Z". It serves names and provenance, never
// measurements.
[[nodiscard]] std::string utc_now();

}  // namespace weir
