#include "array/regular_distribution.hpp"

#include <fmt/format.h>

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
    : grid_(distribution.grid()) {
  Odometer<>::Counts counts;
  for (int d = 0; d < region.dimensions(); ++d) {
    coordinates_.push_back(distribution.along(d).holders(region.along(d)));
    counts.push_back(static_cast<std::int64_t>(coordinates_[d].size()));
  }
  choice_ = Odometer<>(counts);
}

std::int64_t RanksMeeting::count() const {
  std::int64_t product = 1;
  for (const std::vector<std::int64_t>& some : coordinates_) {
    product *= static_cast<std::int64_t>(some.size());
  }
  return product;
}

bool RanksMeeting::next(std::int64_t& rank) {
  if (!choice_.valid()) return false;
  Indices coordinates;
  for (int d = 0; d < coordinates_.size(); ++d) {
    coordinates.push_back(coordinates_[d][static_cast<std::size_t>(choice_.digits()[d])]);
  }
  rank = grid_.rank(coordinates);
  choice_.advance();
  return true;
}

}  // namespace weir::array
