// Records for which explicit distributions this rank has found that its boxes overlap no others, so
// that a repeated request need not check again. Distributions are identified by fingerprint. Only
// the latest are kept, since a program may use different regions in each call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weir::aggregation {

class KnownDisjoint {
 public:
  // Equal to the number of plans that are cached for a session (plan/planner.hpp).
  static constexpr std::size_t most_known = 64;

  // Returns whether the distribution is known, and marks it as used.
  [[nodiscard]] bool has(std::uint64_t fingerprint);
  // Adds a distribution that is not known yet, and drops the least recently used one if there are
  // too many.
  void add(std::uint64_t fingerprint);

 private:
  std::vector<std::uint64_t> fingerprints_;  // in order of use, the latest last
};

}  // namespace weir::aggregation
