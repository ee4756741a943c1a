#include "adapters/takeover/taking_thread.hpp"

#include <atomic>

namespace weir::takeover {

bool is_taking_thread() {
  // The address of `here` tells threads that run from each other.
  static thread_local char here = 0;
  static constinit std::atomic<const char*> taking{nullptr};
  const char* known = nullptr;
  return taking.compare_exchange_strong(known, &here) || known == &here;
}

}  // namespace weir::takeover
