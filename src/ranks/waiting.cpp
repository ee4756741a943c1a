#include "ranks/waiting.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <ctime>

#include "common/clock.hpp"

namespace weir::ranks {
namespace {

// Number of yields before a wait counts as long. It is small: where there are more ranks than
// cores, waiting ranks take turns with ranks that copy, and each turn costs the latter a context
// switch. The sleep is the shortest that the system offers (about 60 us).
constexpr std::int64_t short_wait_looks = 20;
constexpr std::int64_t looks_per_clock = 64;
constexpr long sleep_ns = 10000;

constexpr long shortest_nap_ns = 250'000;
constexpr long longest_nap_ns = 8'000'000;
constexpr std::int64_t longer_naps = 3;  // each is half as long as the one before

}  // namespace

void yield_or_doze(std::int64_t count) {
  if (count < short_wait_looks) {
    ::sched_yield();
  } else {
    const timespec moment{0, sleep_ns};
    ::nanosleep(&moment, nullptr);
  }
}

long nap_ns(std::int64_t ranks_per_core, std::int64_t naps_before) {
  const std::int64_t longer = std::max<std::int64_t>(longer_naps - naps_before, 0);
  const std::int64_t most = longest_nap_ns / shortest_nap_ns;
  return shortest_nap_ns *
         static_cast<long>(std::min(std::min(ranks_per_core, most) << longer, most));
}

void Patience::reset() {
  looks_ = 0;
  began_ns_ = 0;
  if (life_ != nullptr) life_->got_on();
}

bool Patience::look_again() {
  ++looks_;
  yield_or_doze(looks_);
  return looks_ % looks_per_clock != 0 || has_time();
}

bool Patience::has_time() {
  const std::int64_t now = monotonic_ns();
  if (began_ns_ == 0) {
    began_ns_ = looked_ns_ = now;
    waited_ = silent_ = 0;
  }
  // If this rank has not checked for a long time, it was stopped, perhaps like the others: they get
  // time to show that they continue.
  const double passed = std::min(seconds_of(now - looked_ns_), deadline_seconds_ / 2);
  looked_ns_ = now;
  waited_ += passed;
  silent_ += passed;
  if (life_ != nullptr && now - began_ns_ >= life_->interval_ns()) {
    if (!life_->look(now)) return false;
    silent_ = std::min(silent_, seconds_of(now - life_->hope_ns()));
    if (waited_ >= LifeSigns::most_deadlines * deadline_seconds_) return false;
  }
  const double deadlines = life_ != nullptr ? life_->deadlines_without_hope() : 1;
  return silent_ < deadlines * deadline_seconds_;
}

Error Patience::passed(const char* what) const {
  return Error(ErrorCode::deadline,
               fmt::format("waited {:.3g} s for {}: {}; the session is broken: close it",
                           seconds_of(monotonic_ns() - began_ns_), what,
                           life_ != nullptr ? life_->suspicion() : "a rank is missing or hangs"));
}

}  // namespace weir::ranks
