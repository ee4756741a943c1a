// Handles of the MPI library that pass as 64 bits (adapters/mpiio/handle.hpp).
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

template <typename MpiHandle>
[[nodiscard]] mpiio::Handle to_handle(MpiHandle handle) {
  if constexpr (std::is_pointer_v<MpiHandle>) {
    return reinterpret_cast<mpiio::Handle>(handle);
  } else {
    return static_cast<mpiio::Handle>(handle);
  }
}

}  // namespace weir::takeover
