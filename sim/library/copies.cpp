// In place of bench/measurement/copies.cpp: what ranks compute takes no simulated time, so that a
// copy takes the least that there is.
#include "measurement/copies.hpp"

namespace weir::bench {

double seconds_of_a_copy(std::byte* /*to*/, const std::byte* /*from*/, std::int64_t /*bytes*/,
                         std::int64_t /*copies*/) {
  constexpr double least_seconds = 1e-9;
  return least_seconds;
}

}  // namespace weir::bench
