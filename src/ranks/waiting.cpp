#include "ranks/waiting.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "common/clock.hpp"

namespace weir::ranks {
namespace {

constexpr std::int64_t looks_per_clock = 64;

}  // namespace

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
