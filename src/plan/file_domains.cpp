#include "plan/file_domains.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weir::plan {

FileDomains::FileDomains(const FileImage& image, const ElementRange& covered,
                         std::int64_t alignment, const array::DealtDimension& units)
    : image_(image),
      covered_(covered),
      alignment_(alignment),
      first_unit_(image.byte_of(covered.first) / alignment),
      units_(units) {}

Result<FileDomains> FileDomains::create(const FileImage& image, const ElementRange& covered,
                                        std::int64_t aggregators, std::int64_t alignment,
                                        DomainDealing dealing) {
  if (aggregators < 1) {
    return invalid_argument(fmt::format("{} aggregators: give at least 1", aggregators));
  }
  if (alignment < 1) {
    return invalid_argument(
        fmt::format("file domains aligned to {} bytes: give at least 1", alignment));
  }
  std::int64_t units = 0;
  if (covered.size() > 0) {
    units =
        image.byte_of(covered.last - 1) / alignment - image.byte_of(covered.first) / alignment + 1;
  }
  const auto dealt = array::DealtDimension::create(dealing == DomainDealing::contiguous
                                                       ? array::DistributionFormat::block_of()
                                                       : array::DistributionFormat::cyclic_of(),
                                                   units, aggregators);
  if (!dealt) return dealt.error();
  return FileDomains(image, covered, alignment, dealt.value());
}

std::int64_t FileDomains::aggregator_of(std::int64_t element) const {
  return units_.owner(image_.byte_of(element) / alignment_ - first_unit_);
}

ElementRange FileDomains::elements(const array::Interval& units) const {
  // Compared in units, so that the end of the last unit need not fit into 63 bits.
  const auto start_of = [&](std::int64_t unit) {
    if (unit <= 0) return covered_.first;
    if (unit >= units_.extent()) return covered_.last;
    return std::clamp(image_.element_from((first_unit_ + unit) * alignment_), covered_.first,
                      covered_.last);
  };
  return {start_of(units.lower), start_of(units.upper)};
}

Result<DomainPieces> DomainPieces::create(const FileDomains& domains, std::int64_t aggregator,
                                          std::int64_t buffer_bytes) {
  if (buffer_bytes < domains.image().element_bytes()) {
    return invalid_argument(
        fmt::format("a buffer of {} bytes for elements of {}: give at least one", buffer_bytes,
                    domains.image().element_bytes()));
  }
  return DomainPieces(domains, aggregator, buffer_bytes);
}

bool DomainPieces::next(ElementRange& piece) {
  while (left_.size() <= 0) {
    if (next_block_ >= units_.blocks()) return false;
    left_ = domains_.elements(units_.block(next_block_++));
  }
  const FileImage& image = domains_.image();
  const std::int64_t fitting = buffer_bytes_ / image.element_bytes();
  piece = left_;
  if (left_.size() > fitting) {
    piece.last = left_.first + fitting;
    // Back to the last end of a unit, if there is one in the piece.
    const std::int64_t end = image.byte_of(piece.last);
    const std::int64_t aligned = image.element_from(end - end % domains_.alignment());
    if (aligned > piece.first) piece.last = std::min(aligned, piece.last);
  }
  left_.first = piece.last;
  return true;
}

}  // namespace weir::plan
