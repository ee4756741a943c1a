#include "plan/units.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>

#include "array/chunk_grid.hpp"
#include "array/linear_range.hpp"
#include "array/number_theory.hpp"
#include "common/checked.hpp"

namespace weir::plan {
namespace {

// Every aggregator gets at least this many units of small chunks, if there are enough chunks.
constexpr std::int64_t fewest_units_each = 4;

array::Indices last_index(const array::Section& section) {
  array::Indices last;
  for (int d = 0; d < section.dimensions(); ++d) {
    last.push_back(section.start[d] + (section.count[d] - 1) * section.stride[d]);
  }
  return last;
}

// Returns a layout by the section's own indices, from a layout by the array's indices.
array::Layout seen_by(const array::Section& section, const array::Layout& layout,
                      const array::Indices& origin) {
  array::Indices first;
  array::Indices strides;
  for (int d = 0; d < section.dimensions(); ++d) {
    first.push_back(section.start[d] - origin[d]);
    strides.push_back(layout.stride(d) * section.stride[d]);
  }
  // The layout fits, since its elements are elements of `layout`.
  return array::Layout::strided(section.count, layout.element_bytes(),
                                {strides.begin(), strides.end()}, layout.offset_of(first))
      .value();
}

}  // namespace

Units::Units(const Image& image, const array::Section& asked, std::int64_t aggregators,
             const Parameters& parameters)
    : image_(image),
      asked_(asked),
      aggregators_(aggregators),
      elements_per_part_(
          std::max<std::int64_t>(1, parameters.buffer_bytes / image.element_bytes())),
      assignment_(parameters.assignment) {
  if (asked.empty()) return;
  if (image.dense() != nullptr) {
    cut_file(*image.dense(), parameters);
  } else {
    group_chunks(*image.chunked(), parameters);
  }
}

// Each aggregator gets as many units as it has buffers to fill.
std::int64_t Units::aligned_unit(std::int64_t span, const Parameters& parameters) const {
  const std::int64_t alignment = parameters.alignment;
  const std::int64_t asked_bytes = asked_.elements() * image_.element_bytes();
  // Rounding up to the alignment must not make units longer than a buffer that holds several
  // alignments. If only parts of the file are requested, the number of requested elements varies
  // between units.
  std::int64_t filled = parameters.buffer_bytes;
  if (filled > 2 * alignment) filled -= asked_bytes < span ? alignment : filled % alignment;
  const std::int64_t for_all = array::divide_up(asked_bytes, aggregators_);
  const std::int64_t units_each = array::divide_up(for_all, filled);
  const std::int64_t bytes = array::divide_up(array::divide_up(span, aggregators_), units_each);
  // A unit is no longer than the whole span, so that rounding up cannot overflow.
  return std::min(checked_round_up(bytes, alignment).value_or(span), span);
}

// Lets units consist of whole rows, planes and so on if possible, since such a unit is one box,
// while others consist of up to 2 N - 1 boxes. The rows are as large as possible without making
// units longer than a buffer or the shares of aggregators too unequal.
void Units::cut_at_rows(const FileImage& dense, std::int64_t span, const Parameters& parameters) {
  if (dense.offset() % parameters.alignment != 0) return;
  const std::int64_t share = array::divide_up(span, aggregators_);
  const std::int64_t aligned = unit_bytes_;
  std::int64_t rows = dense.element_bytes();
  std::int64_t cut = 0;
  for (int depth = dense.shape().dimensions() - 1; depth > 0; --depth) {
    const int d = array::dimension_at_depth(dense.order(), dense.shape().dimensions(), depth);
    rows *= dense.shape().extent(d);  // no overflow: no larger than the array
    const auto step =
        checked_multiply(rows / std::gcd(rows, parameters.alignment), parameters.alignment);
    if (!step || *step > aligned) break;
    const std::int64_t above = array::divide_up(aligned, *step) * *step;
    for (const std::int64_t unit : {above, above - *step}) {
      if (unit == 0 || unit > std::max(aligned, parameters.buffer_bytes)) continue;
      const std::int64_t most = array::divide_up(array::divide_up(span, unit), aggregators_) * unit;
      if (most > share + share / 16) continue;
      unit_bytes_ = unit;
      cut = *step;
      break;
    }
  }
  if (cut > 0) base_ -= (base_ - dense.offset()) % cut;
}

void Units::cut_file(const FileImage& dense, const Parameters& parameters) {
  first_covered_ = array::linear_number(dense.shape(), dense.order(), asked_.start);
  end_covered_ = array::linear_number(dense.shape(), dense.order(), last_index(asked_)) + 1;
  const std::int64_t alignment = parameters.alignment;
  const std::int64_t start = dense.byte_of(first_covered_);
  base_ = start - start % alignment;
  const std::int64_t span = dense.byte_of(end_covered_) - base_;
  unit_bytes_ = alignment;
  if (assignment_ == DomainAssignment::contiguous) {
    unit_bytes_ = aligned_unit(span, parameters);
    cut_at_rows(dense, span, parameters);
  } else {
    // A unit is a stripe. Stripes are assigned by their number in the file, so that a stripe has
    // the same aggregator in every request.
    phase_ = base_ / alignment % aggregators_;
  }
  count_ = array::divide_up(dense.byte_of(end_covered_) - base_, unit_bytes_);
  most_parts_ =
      array::divide_up(array::divide_up(unit_bytes_, dense.element_bytes()), elements_per_part_);
  per_aggregator_ = array::divide_up(count_, aggregators_);
}

void Units::group_chunks(const ChunkedImage& chunked, const Parameters& parameters) {
  const std::int64_t chunks = chunked.grid().chunks();
  if (chunked.files() == 1 && parameters.strategy != Strategy::direct) {
    chunks_per_unit_ = std::clamp<std::int64_t>(
        chunks / (aggregators_ * fewest_units_each), 1,
        std::max<std::int64_t>(1, parameters.buffer_bytes / chunked.chunk_bytes()));
  }
  count_ = array::divide_up(chunks, chunks_per_unit_);
  // Either the chunks of a unit fit into a buffer together, or the unit is a single chunk.
  most_parts_ = array::divide_up(
      array::divide_up(chunks_per_unit_ * chunked.chunk_bytes(), chunked.element_bytes()),
      elements_per_part_);
  spread_ = array::Declustering::for_grid(chunked.grid(), chunks_per_unit_, aggregators_);
}

std::int64_t Units::steps() const {
  if (count_ == 0) return 0;
  if (image_.dense() != nullptr && assignment_ == DomainAssignment::contiguous)
    return per_aggregator_;
  return array::divide_up(count_, aggregators_);
}

std::int64_t Units::aggregator_of(std::int64_t unit) const {
  if (image_.dense() == nullptr) return spread_.holder(unit);
  return assignment_ == DomainAssignment::contiguous ? unit / per_aggregator_
                                                     : (unit + phase_) % aggregators_;
}

std::int64_t Units::step_of(std::int64_t unit) const {
  if (image_.dense() != nullptr && assignment_ == DomainAssignment::contiguous) {
    return unit % per_aggregator_;
  }
  return unit / aggregators_;
}

std::optional<std::int64_t> Units::unit_at(std::int64_t aggregator, std::int64_t step) const {
  if (step >= steps()) return std::nullopt;
  std::int64_t unit = 0;
  if (image_.dense() == nullptr) {
    unit = spread_.number(aggregator, step);
  } else if (assignment_ == DomainAssignment::contiguous) {
    unit = aggregator * per_aggregator_ + step;
  } else {
    unit = step * aggregators_ + (aggregator - phase_ + aggregators_) % aggregators_;
  }
  return unit < count_ ? std::optional(unit) : std::nullopt;
}

std::int64_t Units::last_in_order(std::int64_t unit) const {
  if (image_.dense() == nullptr || assignment_ == DomainAssignment::striped) return count_ - 1;
  return std::min(count_, (unit / per_aggregator_ + 1) * per_aggregator_) - 1;
}

std::int64_t Units::first_element(const FileImage& dense, std::int64_t unit) const {
  if (unit <= 0) return first_covered_;
  if (unit >= count_) return end_covered_;
  return std::clamp(dense.element_from(base_ + unit * unit_bytes_), first_covered_, end_covered_);
}

std::optional<std::int64_t> Units::next(const array::Region& region, std::int64_t from) const {
  if (from >= count_) return std::nullopt;
  if (const FileImage* const dense = image_.dense()) {
    const auto element =
        array::next_number(region, dense->shape(), dense->order(), first_element(*dense, from));
    if (!element || *element >= end_covered_) return std::nullopt;
    return (dense->byte_of(*element) - base_) / unit_bytes_;
  }
  const auto chunk = next_chunk(image_.chunked()->grid(), region, from * chunks_per_unit_);
  if (!chunk) return std::nullopt;
  return *chunk / chunks_per_unit_;
}

std::vector<Units::Content> Units::contents(std::int64_t unit) const {
  std::vector<Content> found;
  const auto add = [&](const array::Box& box, std::int64_t chunk) {
    const array::Section section = array::intersect(asked_, box);
    if (!section.empty()) found.push_back({section, chunk});
  };
  if (const FileImage* const dense = image_.dense()) {
    array::RangeBoxes boxes(dense->shape(), dense->order(), first_element(*dense, unit),
                            first_element(*dense, unit + 1));
    for (array::Box box; boxes.next(box);) add(box, -1);
    return found;
  }
  const array::ChunkGrid& grid = image_.chunked()->grid();
  const array::Interval numbers = chunks(unit);
  for (std::int64_t chunk = numbers.lower; chunk < numbers.upper; ++chunk) {
    add(grid.box(chunk), chunk);
  }
  return found;
}

std::vector<array::Section> Units::sections(std::int64_t unit) const {
  std::vector<array::Section> found;
  const auto add = [&](const array::Box& box) {
    const array::Section section = array::intersect(asked_, box);
    if (!section.empty()) found.push_back(section);
  };
  if (image_.dense() != nullptr) {
    for (const Content& content : contents(unit)) found.push_back(content.section);
    return found;
  }
  const array::ChunkGrid& grid = image_.chunked()->grid();
  const array::Interval numbers = chunks(unit);
  const array::Shape counts = array::Shape::create(grid.counts()).value();
  array::RangeBoxes boxes(counts, array::Order::row_major, numbers.lower, numbers.upper);
  for (array::Box box; boxes.next(box);) {
    array::Indices last;
    for (int d = 0; d < box.dimensions(); ++d) last.push_back(box.upper(d) - 1);
    array::Box elements = grid.box(box.lower);
    const array::Box end = grid.box(last);
    for (int d = 0; d < box.dimensions(); ++d) {
      elements.extent[d] = end.upper(d) - elements.lower[d];
    }
    add(elements);
  }
  return found;
}

array::Interval Units::chunks(std::int64_t unit) const {
  if (image_.dense() != nullptr) return {};
  return {unit * chunks_per_unit_,
          std::min(image_.chunked()->grid().chunks(), (unit + 1) * chunks_per_unit_)};
}

std::vector<Units::Content> Units::contents(const array::Interval& numbers,
                                            std::int64_t most) const {
  std::vector<Content> found;
  const array::ChunkGrid& grid = image_.chunked()->grid();
  const array::Region asked(asked_);
  auto chunk = next_chunk(grid, asked, numbers.lower);
  while (chunk && *chunk < numbers.upper && std::ssize(found) < most) {
    found.push_back({array::intersect(asked_, grid.box(*chunk)), *chunk});
    chunk = next_chunk(grid, asked, *chunk + 1);
  }
  return found;
}

array::Layout Units::layout(const Content& content, std::int64_t& file) const {
  const int dimensions = content.section.dimensions();
  if (const FileImage* const dense = image_.dense()) {
    file = 0;
    return seen_by(content.section, dense->layout(), array::Indices(dimensions));
  }
  const ChunkedImage& chunked = *image_.chunked();
  const array::Box box = chunked.grid().box(content.chunk);
  const auto place = chunked.place_of(content.chunk).value_or(ChunkedImage::Place{no_file, 0});
  file = place.file;
  // The layout fits, since the chunk's last byte is in range.
  const auto inside = array::Layout::packed(chunked.stored_extents(box), chunked.element_bytes(),
                                            chunked.order(), place.offset)
                          .value();
  return seen_by(content.section, inside, box.lower);
}

std::optional<std::int64_t> next_chunk(const array::ChunkGrid& grid, const array::Region& region,
                                       std::int64_t from) {
  if (region.empty() || from >= grid.chunks()) return std::nullopt;
  const int dimensions = grid.shape().dimensions();
  array::Indices place = grid.coordinates(from);
  // Returns the first place along a dimension, at or after `at`, of a chunk with an index of the
  // region.
  const auto place_from = [&](int d, std::int64_t at) -> std::optional<std::int64_t> {
    const std::int64_t extent = grid.chunk_extents()[d];
    const array::IndexBlocks& indices = region.along(d);
    const std::int64_t position =
        at < grid.counts()[d] ? indices.position(at * extent) : indices.size();
    if (position >= indices.size()) return std::nullopt;
    return indices.at(position) / extent;
  };
  // Like next_number(): keeps the places that the region has, from the slowest dimension on. If a
  // place is missing, takes the next one, and the first places in the dimensions inside it.
  int d = 0;
  while (d < dimensions && place_from(d, place[d]) == place[d]) ++d;
  if (d == dimensions) return from;
  auto next = place_from(d, place[d]);
  while (!next) {
    if (--d < 0) return std::nullopt;
    next = place_from(d, place[d] + 1);
  }
  place[d] = *next;
  for (int inside = d + 1; inside < dimensions; ++inside) place[inside] = *place_from(inside, 0);
  return grid.number(place);
}

}  // namespace weir::plan
