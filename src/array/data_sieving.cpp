#include "array/data_sieving.hpp"

#include <algorithm>

namespace weir::array {

std::int64_t widest_hole(const TransferCost& cost, HoleUse use) {
  const double times = use == HoleUse::rewritten ? 2 : 1;
  const double bytes = cost.call_seconds * cost.bytes_per_second / times;
  return static_cast<std::int64_t>(std::clamp(bytes, 0.0, static_cast<double>(most_hole_bytes)));
}

std::int64_t widest_hole_of_read(const TransferCost& cached, bool cold) {
  const std::int64_t widest = widest_hole(cached);
  return cold ? std::max(widest, widest_hole(cold_read)) : widest;
}

RunsTogether runs_together(const StridedCopy& to_file, std::int64_t widest, std::int64_t most) {
  RunsTogether together{to_file.levels.size(), to_file.bytes};
  while (together.level > 0) {
    const CopyLevel& along = to_file.levels[together.level - 1];
    if (!moves_along(along.to_stride - together.bytes, widest) ||
        along.to_stride > (most - together.bytes) / (along.count - 1)) {
      break;
    }
    together.bytes += (along.count - 1) * along.to_stride;
    --together.level;
  }
  return together;
}

}  // namespace weir::array
