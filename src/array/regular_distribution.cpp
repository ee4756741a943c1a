#include "array/regular_distribution.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "common/checked.hpp"

namespace weir::array {

Result<RegularDistribution> RegularDistribution::create(const Shape& shape,
                                                        std::span<const DistributionFormat> formats,
                                                        const ProcessGrid& grid) {
  const int dimensions = shape.dimensions();
  if (static_cast<int>(formats.size()) != dimensions || grid.extents.size() != dimensions) {
    return invalid_argument(
        fmt::format("{} distribution formats and a grid of {} dimensions are given, but the array "
                    "has {} dimensions; give * and 1 for a dimension that is not distributed",
                    formats.size(), grid.extents.size(), dimensions));
  }
  RegularDistribution distribution(shape, grid);
  std::int64_t ranks = 1;
  for (int d = 0; d < dimensions; ++d) {
    const DistributionFormat& format = formats[static_cast<std::size_t>(d)];
    auto distributed = DistributedDimension::create(format, shape.extent(d), grid.extents[d]);
    if (!distributed) {
      Error error = distributed.error();
      error.message = fmt::format("dimension {}: {}", d, error.message);
      return error;
    }
    const auto product = checked_multiply(ranks, grid.extents[d]);
    if (!product || *product > std::numeric_limits<std::int32_t>::max()) {
      return invalid_argument(fmt::format("the grid has {} processes: give at most 2^31 - 1",
                                          extents_text(grid.extents)));
    }
    ranks = *product;
    distribution.formats_.push_back(format);
    distribution.along_.push_back(distributed.value());
  }
  return distribution;
}

Region RegularDistribution::part(std::int64_t rank) const {
  PerDimension<IndexBlocks> along(shape_.dimensions());
  if (rank >= 0 && rank < ranks()) {
    const Indices coordinates = grid_.coordinates(rank);
    for (int d = 0; d < shape_.dimensions(); ++d) along[d] = along_[d].part(coordinates[d]);
  }
  return Region(along);
}

std::int64_t RegularDistribution::owner(const Indices& index) const {
  Indices coordinates;
  for (int d = 0; d < shape_.dimensions(); ++d) coordinates.push_back(along_[d].owner(index[d]));
  return grid_.rank(coordinates);
}

std::string RegularDistribution::text() const {
  std::string line;
  for (const DistributionFormat& format : formats_) {
    line += fmt::format("{}{}", line.empty() ? "" : ", ", format.text());
  }
  return fmt::format("{} over {}, {}", line, extents_text(grid_.extents),
                     grid_.order == Order::row_major ? "row-major" : "column-major");
}

RanksMeeting::RanksMeeting(const RegularDistribution& distribution, const Region& region)
    : RanksMeeting(distribution, region, 0, distribution.ranks()) {}

RanksMeeting::RanksMeeting(const RegularDistribution& distribution, const Region& region,
                           std::int64_t first, std::int64_t last)
    : distribution_(distribution),
      region_(region),
      // The grid has at most 2^31 ranks, so it is a shape.
      boxes_(Shape::create(distribution.grid().extents).value(), distribution.grid().order,
             std::max<std::int64_t>(0, first), std::min(last, distribution.ranks())) {}

bool RanksMeeting::next_box() {
  const int dimensions = region_.dimensions();
  Box box;
  while (boxes_.next(box)) {
    counts_.clear();
    first_count_ = {};
    Odometer<>::Counts lengths;
    for (int depth = 0; depth < dimensions; ++depth) {
      const int d = dimension_at_depth(distribution_.grid().order, dimensions, depth);
      first_count_.push_back(counts_.size());
      looked_at_ += distribution_.along(d).add_shares(region_.along(d),
                                                      {box.lower[d], box.upper(d)}, counts_);
      lengths.push_back(static_cast<std::int64_t>(counts_.size() - first_count_.back()));
      if (lengths.back() == 0) break;
    }
    choice_ = Odometer<>(lengths);
    if (!choice_.valid()) continue;
    products_ = PerDimension<Share>(dimensions);
    multiply_from(0);
    return true;
  }
  return false;
}

void RanksMeeting::multiply_from(int depth) {
  const ProcessGrid& grid = distribution_.grid();
  for (; depth < products_.size(); ++depth) {
    const Share outside = depth == 0 ? Share{0, 1} : products_[depth - 1];
    const auto& one =
        counts_[first_count_[depth] + static_cast<std::size_t>(choice_.digits()[depth])];
    const int d = dimension_at_depth(grid.order, products_.size(), depth);
    products_[depth] = {outside.rank * grid.extents[d] + one.process,
                        outside.elements * one.indices};
  }
}

bool RanksMeeting::next(Share& share) {
  if (!choice_.valid() && !next_box()) return false;
  share = products_.back();
  const int changed = choice_.advance();
  if (changed >= 0) multiply_from(changed);
  return true;
}

}  // namespace weir::array
