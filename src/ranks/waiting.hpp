// Waiting without holding a core that another rank could use, and never for ever.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>

#include "common/status.hpp"

namespace weir::ranks {

// One pause of several, `count` of which went before it: gives the processor up, and later sleeps
// for the shortest time that the system has.
void yield_or_doze(std::int64_t count);

// Between two looks at what is waited for. Yields the processor at once, since there may be more
// ranks than cores; sleeps for moments when a wait gets long.
class Patience {
 public:
  explicit Patience(double deadline_seconds) : deadline_seconds_(deadline_seconds) {}
  // What was waited for moved on: the deadline counts from here.
  void reset() {
    looks_ = 0;
    began_ns_ = 0;
  }
  // After a sleep of some other kind: false when the deadline has passed.
  [[nodiscard]] bool has_time();
  // False when the deadline has passed since the last reset().
  [[nodiscard]] bool look_again();

 private:
  double deadline_seconds_;
  std::int64_t looks_ = 0;
  std::int64_t began_ns_ = 0;
};

// The error of a wait whose deadline passed.
[[nodiscard]] Error deadline_passed(const char* what, double deadline_seconds);

// Tests a request until it completes.
[[nodiscard]] Status wait_for(MPI_Request& request, double deadline_seconds, const char* what);

// Collective: ends on all ranks once all have come. Calls that MPI has only in blocking forms
// follow one of these, with nothing in between that could keep a rank.
[[nodiscard]] Status meet(MPI_Comm communicator, double deadline_seconds, const char* what);

// Memory that MPI may still use after a deadline: it then stays for good.
template <typename T>
class KeptUntilDone {
 public:
  T& operator*() { return *value_; }
  T* operator->() { return value_.get(); }
  void keep_for_good() {
    static_cast<void>(value_.release());  // NOLINT(bugprone-unused-return-value)
  }

 private:
  std::unique_ptr<T> value_ = std::make_unique<T>();
};

}  // namespace weir::ranks
