// What a call that was taken over would have taken without Weir, as far as the path model knows
// (plan/mpi_library_price.hpp).
#pragma once

#include <cstdint>

namespace weir::mpiio {

struct Without {
  enum class Basis : std::uint8_t {
    unknown,
    own_time,  // the MPI library does what Weir did: the call's own time, and `ns` more
    price      // `ns` in place of the call's own time
  };
  Basis basis = Basis::unknown;
  std::int64_t ns = 0;
};

}  // namespace weir::mpiio
