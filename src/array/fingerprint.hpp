// A 64-bit hash of many numbers, for look-ups. Equal values have equal fingerprints; values with
// equal fingerprints are still compared.
#pragma once

#include <cstdint>

#include "array/per_dimension.hpp"

namespace weir::array {

class Distribution;

class Fingerprint {
 public:
  void add(std::int64_t number) {
    // The mixing step of SplitMix64 (Steele, Lea, Flood 2014).
    std::uint64_t mixed = value_ ^ static_cast<std::uint64_t>(number);
    mixed += 0x9E3779B97F4A7C15U;
    mixed = (mixed ^ (mixed >> 30U)) * 0xBF58476D1CE4E5B9U;
    mixed = (mixed ^ (mixed >> 27U)) * 0x94D049BB133111EBU;
    value_ = mixed ^ (mixed >> 31U);
  }
  void add(const Indices& indices) {
    add(indices.size());
    for (const std::int64_t index : indices) add(index);
  }
  void add(const Distribution& distribution);
  [[nodiscard]] std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0;
};

}  // namespace weir::array
