#include "stager/scarce_memory.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <thread>
#include <utility>

#include "common/clock.hpp"

namespace weir::stager {
namespace {

// Enough for the largest events that are usual. It takes none of the node's memory until it is
// used.
constexpr std::size_t reserved_bytes = std::size_t{4} << 20;
constexpr std::int64_t longest_wait_ns = 30'000'000'000;
constexpr std::chrono::milliseconds nap(10);

// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): a new-handler has no other place
thread_local bool is_patient_here = false;
thread_local std::int64_t waits_since_ns = 0;  // 0: it does not wait
std::atomic<void*> reserve = nullptr;
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

// The system calls this where an allocation finds no memory, and tries again when it has returned.
void find_memory() {
  if (!is_patient_here) throw std::bad_alloc();
  if (void* const kept = reserve.exchange(nullptr)) {
    std::free(kept);
    return;
  }
  const std::int64_t now_ns = monotonic_ns();
  if (waits_since_ns == 0) waits_since_ns = now_ns;
  if (now_ns - waits_since_ns > longest_wait_ns) throw std::bad_alloc();
  std::this_thread::sleep_for(nap);
}

}  // namespace

Error no_memory() {
  return {ErrorCode::insufficient,
          "the stager found no memory for what it has to do: start it with less --memory, or let "
          "it have more (ulimit -v)"};
}

PatientMemory::PatientMemory(bool is_patient)
    : before_(std::exchange(is_patient_here, is_patient)) {
  waits_since_ns = 0;
}

PatientMemory::~PatientMemory() { is_patient_here = before_; }

void keep_memory_in_reserve() {
  waits_since_ns = 0;
  if (reserve != nullptr) return;
  (void)std::set_new_handler(find_memory);
  reserve = std::malloc(reserved_bytes);  // NOLINT(*-no-malloc): null where there is none
}

}  // namespace weir::stager
