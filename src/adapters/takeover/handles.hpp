// Handles of the MPI library that came as 64 bits (adapters/mpiio/handle.hpp).
#pragma once

#include <mpi.h>

#include <type_traits>

#include "adapters/mpiio/handle.hpp"

namespace weir::takeover {

// If a handle is an int, only the lower half of the register has its value.
template <typename MpiHandle>
[[nodiscard]] MpiHandle from_handle(mpiio::Handle handle) {
  if constexpr (std::is_pointer_v<MpiHandle>) {
    return reinterpret_cast<MpiHandle>(handle);
  } else {
    return static_cast<MpiHandle>(handle);
  }
}

}  // namespace weir::takeover
