#include "aggregation/known_disjoint.hpp"

#include <algorithm>

namespace weir::aggregation {

bool KnownDisjoint::has(std::uint64_t fingerprint) {
  const auto found = std::find(fingerprints_.begin(), fingerprints_.end(), fingerprint);
  if (found == fingerprints_.end()) return false;
  std::rotate(found, found + 1, fingerprints_.end());
  return true;
}

void KnownDisjoint::add(std::uint64_t fingerprint) {
  if (fingerprints_.size() == most_known) fingerprints_.erase(fingerprints_.begin());
  fingerprints_.push_back(fingerprint);
}

}  // namespace weir::aggregation
