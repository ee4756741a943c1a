#include "stager/short_turns.hpp"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace weir::stager {
namespace {

// The shortest turn that the kernel gives.
constexpr std::uint64_t turn_ns = 100'000;

// The kernel's sched_attr, for which Debian 12 has no declaration.
struct Scheduling {
  std::uint32_t size = sizeof(Scheduling);
  std::uint32_t policy = 0;
  std::uint64_t flags = 0;
  std::int32_t nice = 0;
  std::uint32_t priority = 0;
  std::uint64_t runtime_ns = 0;  // with SCHED_OTHER: a turn
  std::uint64_t deadline_ns = 0;
  std::uint64_t period_ns = 0;
};
static_assert(sizeof(Scheduling) == 48);

}  // namespace

void ask_for_short_turns() {
  Scheduling now;
  if (::syscall(SYS_sched_getattr, 0, &now, sizeof now, 0) != 0) return;
  if (now.policy != SCHED_OTHER) return;
  now.runtime_ns = turn_ns;
  (void)::syscall(SYS_sched_setattr, 0, &now, 0);
}

}  // namespace weir::stager
