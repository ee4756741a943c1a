// Which explicit distributions this rank has looked at and found that its boxes overlap no others,
// so that a request that is made again does not look again. Known by fingerprint, and only those
// used last: programs may name other regions in each call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weir::aggregation {

class KnownDisjoint {
 public:
  // As many as plans are kept for a session (plan/planner.hpp).
  static constexpr std::size_t most_known = 64;

  // Counts as use.
  [[nodiscard]] bool has(std::uint64_t fingerprint);
  // One that is not known yet; the one used longest ago is forgotten where there are too many.
  void add(std::uint64_t fingerprint);

 private:
  std::vector<std::uint64_t> fingerprints_;  // the one used last comes last
};

}  // namespace weir::aggregation
