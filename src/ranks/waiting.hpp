// Waiting that does not occupy a core which another rank could use, and never lasts indefinitely.
#pragma once

#include <cstdint>
#include <memory>

#include "common/status.hpp"
#include "ranks/life_signs.hpp"

namespace weir::ranks {

// Makes one pause of a wait, after `count` earlier pauses: yields the processor, for longer where
// nobody else wants it, and in later pauses sleeps for the shortest time that the system offers.
void yield_or_doze(std::int64_t count);

// Returns how long a rank sleeps, in ns, before it lets MPI make progress, while it waits for a
// wake-up. `ranks_per_core` ranks share a core, and `naps_before` naps of this wait went before.
// Most waits are short and end by a wake-up: a check of MPI then only takes the core from a working
// rank. A long wait may be for a rank to which the program sends messages; each check of MPI moves
// some hundred KiB of them. The first naps are therefore long, and from the fourth on, all ranks of
// a core together spend some 2 % of its time on MPI.
[[nodiscard]] long nap_ns(std::int64_t ranks_per_core, std::int64_t naps_before);

// The pauses between two checks for what is waited for. At first the rank only yields the
// processor, since there may be more ranks than cores; it sleeps briefly when a wait becomes long.
class Patience {
 public:
  // `life`: signs of the processes that are waited for, so that the deadline counts only while they
  // are silent (life_signs.hpp); if null, the deadline always counts.
  explicit Patience(double deadline_seconds, LifeSigns* life = nullptr)
      : deadline_seconds_(deadline_seconds),
        life_(life),
        waiting_(life, LifeSigns::What::waiting) {}
  // Records that the wait made progress: the deadline counts from now on.
  void reset();
  // Called after a sleep of another kind. Returns false if the deadline has passed, or waiting is
  // in vain.
  [[nodiscard]] bool has_time();
  // Pauses. Returns the result of has_time() every few calls, and true otherwise.
  [[nodiscard]] bool look_again();
  // Returns the reason why has_time() or look_again() was false, for a wait for `what`.
  [[nodiscard]] Error passed(const char* what) const;

 private:
  double deadline_seconds_;
  LifeSigns* life_;
  LifeSigns::During waiting_;
  std::int64_t looks_ = 0;
  // The following values refer to the time since the wait last made progress.
  std::int64_t began_ns_ = 0;
  std::int64_t looked_ns_ = 0;  // time of the last check
  double waited_ = 0;           // seconds during which this rank kept checking
  double silent_ = 0;           // seconds without hope
};

// Holds memory that MPI may still use after a missed deadline; such memory is then never freed.
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
