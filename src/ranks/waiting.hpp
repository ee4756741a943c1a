// Waiting without holding a core that another rank could use, and never for ever.
#pragma once

#include <cstdint>
#include <memory>

#include "common/status.hpp"
#include "ranks/life_signs.hpp"

namespace weir::ranks {

// One pause of several, `count` of which went before it: gives the processor up, and later sleeps
// for the shortest time that the system has.
void yield_or_doze(std::int64_t count);

// How long a rank that waits to be woken sleeps before it looks after MPI, in ns, when so many
// ranks share a core and `naps_before` naps of this wait went before. Most waits are short and end
// by a wake-up: a look then only takes the core from a rank that works. A wait that gets long may
// be for a rank to which the program sends messages; each look moves some hundred KiB of them. So
// the first naps are long, and from the fourth on all ranks of a core together look after MPI for
// some 2 % of its time.
[[nodiscard]] long nap_ns(std::int64_t ranks_per_core, std::int64_t naps_before);

// Between two looks at what is waited for. Yields the processor at once, since there may be more
// ranks than cores; sleeps for moments when a wait gets long.
class Patience {
 public:
  // `life`: of the processes that are waited for, so that the deadline counts only while they are
  // silent (life_signs.hpp); null: the deadline counts always.
  explicit Patience(double deadline_seconds, LifeSigns* life = nullptr)
      : deadline_seconds_(deadline_seconds),
        life_(life),
        waiting_(life, LifeSigns::What::waiting) {}
  // What was waited for moved on: the deadline counts from here.
  void reset();
  // After a sleep of some other kind: false when the deadline has passed, or waiting is in vain.
  [[nodiscard]] bool has_time();
  // Pauses, and every few calls answers as has_time(); true otherwise.
  [[nodiscard]] bool look_again();
  // When one of these was false: why, of a wait for `what`.
  [[nodiscard]] Error passed(const char* what) const;

 private:
  double deadline_seconds_;
  LifeSigns* life_;
  LifeSigns::During waiting_;
  std::int64_t looks_ = 0;
  // Since the wait last moved on.
  std::int64_t began_ns_ = 0;
  std::int64_t looked_ns_ = 0;  // last
  double waited_ = 0;           // seconds in which this rank looked
  double silent_ = 0;           // those without hope
};

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
