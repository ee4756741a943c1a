#include "array/copy_runs.hpp"

namespace weir::array {
namespace {

Odometer<max_levels>::Counts counts_of(const StridedCopy& copy) {
  Odometer<max_levels>::Counts counts;
  for (const CopyLevel& level : copy.levels) counts.push_back(level.count);
  return counts;
}

}  // namespace

CopyRuns::CopyRuns(const StridedCopy& copy)
    : copy_(copy), place_(counts_of(copy)), from_(copy.from_offset), to_(copy.to_offset) {}

bool CopyRuns::next(std::int64_t& from, std::int64_t& to) {
  if (copy_.bytes == 0 || !place_.valid()) return false;
  from = from_;
  to = to_;
  const int changed = place_.advance();
  if (changed < 0) return true;
  // Advances one step at the level that changed, and restarts the levels inside it.
  from_ += copy_.levels[changed].from_stride;
  to_ += copy_.levels[changed].to_stride;
  for (int level = changed + 1; level < copy_.levels.size(); ++level) {
    from_ -= copy_.levels[level].from_stride * (copy_.levels[level].count - 1);
    to_ -= copy_.levels[level].to_stride * (copy_.levels[level].count - 1);
  }
  return true;
}

}  // namespace weir::array
