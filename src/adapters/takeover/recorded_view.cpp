#include "adapters/takeover/recorded_view.hpp"

#include <cstring>

#include "adapters/takeover/datatype_pattern.hpp"
#include "adapters/takeover/handles.hpp"
#include "common/checked.hpp"

namespace weir::mpiio {
namespace {

void add_pattern(const array::BytePattern& pattern, std::int64_t first,
                 std::vector<std::int64_t>& numbers) {
  numbers.insert(numbers.end(),
                 {pattern.offset() - first, pattern.block(), pattern.levels().size()});
  for (const array::PatternLevel& level : pattern.levels()) {
    numbers.insert(numbers.end(), {level.count, level.stride});
  }
}

}  // namespace

void RecordedView::change(const SetView& set) {
  view_.reset();
  if (std::strcmp(set.representation, "native") != 0) return;
  const auto shown = takeover::from_handle<MPI_Datatype>(set.view);
  const auto element = takeover::size_of(takeover::from_handle<MPI_Datatype>(set.element));
  const auto size = takeover::size_of(shown);
  const auto tile = takeover::patterns_of(shown);
  if (!element || !size || !tile) return;
  element_bytes_ = element->bytes;
  view_ = array::ByteView::create(set.displacement, *tile, size->extent);
}

std::optional<RecordedBytes> RecordedView::find(Offset at, std::int64_t bytes) const {
  const auto first = checked_multiply(at, element_bytes_);
  if (!view_ || !first) return std::nullopt;
  std::vector<array::BytePattern> patterns;
  if (view_->cut(*first, bytes, array::PatternList::most_patterns, patterns) !=
          array::ByteView::Cut::done ||
      patterns.empty()) {
    return std::nullopt;
  }
  RecordedBytes found{patterns.front().offset(), {}};
  if (patterns.size() == 1 && patterns.front().is_block()) return found;
  for (const array::BytePattern& pattern : patterns) {
    add_pattern(pattern, found.offset, found.shape);
  }
  return found;
}

}  // namespace weir::mpiio
