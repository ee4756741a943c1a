// The 48-bit linear congruential generator of the C library's drand48(), with its own state.
// MADbench2 draws its sky from it, so the same numbers make results comparable digit by digit.
#pragma once

#include <cstdint>

namespace weir::bench::madbench {

class Random48 {
 public:
  // Seeds like srand48(seed): the seed stands above 16 fixed low bits.
  explicit Random48(std::uint32_t seed) : state_((std::uint64_t{seed} << 16) + 0x330E) {}

  // Returns the next multiple of 2^-48 in [0, 1), like drand48().
  [[nodiscard]] double next() {
    constexpr std::uint64_t multiplier = 0x5DEECE66D;
    constexpr std::uint64_t addend = 0xB;
    constexpr std::uint64_t mask = (std::uint64_t{1} << 48) - 1;
    state_ = (state_ * multiplier + addend) & mask;
    return static_cast<double>(state_) * 0x1p-48;
  }

 private:
  std::uint64_t state_;
};

}  // namespace weir::bench::madbench
