// What a stager does where the system gives it no more memory: what needs it fails, whoever has
// asked for that gets the reason, and everything else goes on.
//
// clang-format off
//     a job; a message that is read   ─► with_memory(): what it had is free again, and it ends with an error
//     an event that is handled        ─► PatientMemory: a reserve, then memory that jobs give back meanwhile
// clang-format on
//
// An event changes the state of the stager in several places, so it cannot be given up half-way.
#pragma once

#include <new>

#include "common/status.hpp"

namespace weir::stager {

[[nodiscard]] Error no_memory();

// As long as it lives, allocations of this thread take from the reserve where there is nothing
// else, and then wait for half a minute before they fail; or, if it is not patient, they fail.
class PatientMemory {
 public:
  explicit PatientMemory(bool is_patient = true);
  PatientMemory(const PatientMemory&) = delete;
  PatientMemory& operator=(const PatientMemory&) = delete;
  ~PatientMemory();

 private:
  bool before_;
};

// Returns what the call returns, a Status or a Result; that there is no memory is its error.
template <typename Call>
[[nodiscard]] auto with_memory(const Call& call) -> decltype(call()) {
  const PatientMemory impatient(false);
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return no_memory();
  }
}

// Fills the reserve again if it was used, as soon as that is possible. The first call makes it.
void keep_memory_in_reserve();

}  // namespace weir::stager
