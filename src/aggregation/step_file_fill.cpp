// Elements that no rank writes in a step have the array's fill value, in every format and for every
// reader.
//
// If the fill value is zeros, or there is none, nothing is done: new room for a step contains
// zeros. Encoded chunks are written whole, so nothing is done for them either. All other elements
// get the fill value when the step begins, before any rank writes into it. Later writes, by any
// ranks, collectively or not, overwrite the fill value, so it need not be known which elements
// remain.
#include <algorithm>

#include "aggregation/step_file.hpp"
#include "array/section.hpp"
#include "engines/data_file_cache.hpp"
#include "sections/write_section.hpp"

namespace weir::aggregation {
namespace {

// One rank takes part for each this many bytes, so that a small array is filled by one rank.
constexpr std::int64_t bytes_of_a_part = std::int64_t{1} << 20;

bool is_filled(const OpenArray& array) {
  const auto& fill = array.origin().fill;
  return array.encoded() == nullptr &&
         std::any_of(fill.begin(), fill.end(), [](std::byte one) { return one != std::byte{0}; });
}

// Returns part number `part` of `parts` equal parts of a section along its longest dimension.
array::Section part_of(array::Section section, std::int64_t part, std::int64_t parts) {
  if (parts == 1) return section;
  int longest = 0;
  for (int d = 1; d < section.dimensions(); ++d) {
    if (section.count[d] > section.count[longest]) longest = d;
  }
  const std::int64_t each = section.count[longest] / parts;
  const std::int64_t more = section.count[longest] % parts;  // the first parts are one longer
  section.start[longest] += part * each + std::min(part, more);
  section.count[longest] = each + (part < more ? 1 : 0);
  return section;
}

}  // namespace

Status StepFile::write_own_fills(const CollectiveState& state) const {
  storage::DataFileCache files(storage::DataFileCache::Use::writing, state.engines->slice_mover(),
                               closing());
  std::int64_t first = 0;  // the rank with an array's first part
  for (const auto& one : arrays_) {
    if (!is_filled(*one) || !(one->origin().grows || !published_)) continue;
    array::Section section = array::Section::of(one->stored().map.shape.box());
    if (one->origin().grows) {
      section.start[0] = *one->step();
      section.count[0] = 1;
    }
    const std::int64_t bytes = section.elements() * one->type().bytes();
    std::int64_t longest = 1;
    for (const std::int64_t count : section.count) longest = std::max(longest, count);
    // If nodes do not see each other's writes, one rank fills everything.
    const std::int64_t most =
        one->origin().targets.coherent_caches ? std::min<std::int64_t>(state.ranks, longest) : 1;
    const std::int64_t parts =
        std::clamp<std::int64_t>(bytes / bytes_of_a_part, 1, std::max<std::int64_t>(1, most));
    const std::int64_t mine = (state.rank - first + state.ranks) % state.ranks;
    if (one->origin().targets.coherent_caches) first = (first + parts) % state.ranks;
    if (mine >= parts) continue;
    const array::Section part = part_of(section, mine, parts);
    if (part.empty()) continue;
    if (Status filled = storage::write_fill(one->stored(), part, files); !filled.ok())
      return filled;
  }
  return settings_.durability == storage::StepDurability::none ? Status() : files.sync();
}

Status StepFile::write_fills(CollectiveState& state) {
  const bool any =
      std::any_of(arrays_.begin(), arrays_.end(), [](const auto& one) { return is_filled(*one); });
  if (!any) return {};
  Status filled = agree_on(state, write_own_fills(state));
  if (!filled.ok()) leave_step(false);
  return filled;
}

}  // namespace weir::aggregation
