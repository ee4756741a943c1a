#include "workloads/probe/written_content.hpp"

#include <algorithm>

namespace weir::bench::probe {

void WrittenContent::wrote(std::int64_t end, std::uint32_t generation) {
  if (end <= 0) return;
  const auto beyond = std::find_if(written_.begin(), written_.end(),
                                   [end](const Written& one) { return one.end > end; });
  written_.erase(written_.begin(), beyond);
  written_.insert(written_.begin(), Written{end, generation});
}

std::vector<WrittenContent::Part> WrittenContent::parts(std::int64_t begin,
                                                        std::int64_t end) const {
  std::vector<Part> found;
  std::int64_t at = 0;
  for (const Written& one : written_) {
    const Part part{std::max(at, begin), std::min(one.end, end), one.generation};
    if (part.begin < part.end) found.push_back(part);
    at = one.end;
  }
  return found;
}

}  // namespace weir::bench::probe
