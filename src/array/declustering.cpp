#include "array/declustering.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "array/number_theory.hpp"

namespace weir::array {
namespace {

// The golden ratio as a fraction of 2^64. Its odd multiples are other α that distribute long lines
// evenly.
constexpr std::uint64_t golden = 0x9E3779B97F4A7C15U;
constexpr std::uint64_t multiples = 16;
// Other α are better on short lines: odd multiples of 1/32, moved by a small amount so that they do
// not repeat.
constexpr std::uint64_t step = std::uint64_t{1} << 59U;
constexpr std::uint64_t a_little = golden >> 10U;
// Maximum number of chunks of one line, square or half that are examined.
constexpr std::int64_t looked_at = 256;

// Measures how evenly a declustering spreads boxes of chunks: the greatest number of chunks of one
// holder relative to an even share.
class Evenness {
 public:
  Evenness(const ChunkGrid& grid, std::int64_t together) : grid_(grid), together_(together) {}

  // Measures the evenness of lines along each dimension and of squares in each pair of dimensions,
  // at three places, and of the middle half along each dimension. Returns the worst value and the
  // sum of all values.
  std::pair<double, double> of(const Declustering& declustering) {
    worst_ = 1;
    sum_ = 0;
    const Indices& counts = grid_.counts();
    std::int64_t side = 1;
    while (side * side < std::min(declustering.holders(), looked_at)) ++side;
    const std::int64_t line = std::min(2 * declustering.holders(), looked_at);
    for (const std::int64_t third : {0, 1, 2}) {
      Indices place;
      for (const std::int64_t count : counts) place.push_back(count * third / 3);
      for (int d = 0; d < counts.size(); ++d) {
        Box box{place, Indices(counts.size(), 1)};
        box.extent[d] = line;
        add(declustering, box);
        for (int other = d + 1; other < counts.size(); ++other) {
          box.extent[d] = side;
          box.extent[other] = side;
          add(declustering, box);
          box.extent[other] = 1;
        }
      }
    }
    for (int d = 0; d < counts.size(); ++d) add(declustering, middle_half(d));
    return {worst_, sum_};
  }

 private:
  // Returns the part that is examined of the middle half along `dimension`.
  [[nodiscard]] Box middle_half(int dimension) const {
    const Indices& counts = grid_.counts();
    Box half{Indices(counts.size()), Indices(counts.size(), 1)};
    half.lower[dimension] = counts[dimension] / 4;
    half.extent[dimension] = std::clamp<std::int64_t>(counts[dimension] / 2, 1, looked_at);
    std::int64_t left = looked_at / half.extent[dimension];
    for (int d = counts.size() - 1; d >= 0; --d) {
      if (d == dimension) continue;
      half.extent[d] = std::clamp<std::int64_t>(left, 1, counts[d]);
      left /= half.extent[d];
    }
    return half;
  }

  void add(const Declustering& declustering, const Box& box) {
    const double one = share(declustering, box);
    worst_ = std::max(worst_, one);
    sum_ += one;
  }

  double share(const Declustering& declustering, Box box) {
    box = intersect(box, {Indices(box.dimensions()), grid_.counts()});
    has_.assign(static_cast<std::size_t>(declustering.holders()), 0);
    std::int64_t units = 0;
    std::int64_t last = -1;
    std::int64_t most = 1;
    for (Odometer<> chunk(box.extent); chunk.valid(); chunk.advance()) {
      Indices place = box.lower;
      for (int d = 0; d < place.size(); ++d) place[d] += chunk.digits()[d];
      const std::int64_t unit = grid_.number(place) / together_;
      if (unit == last) continue;
      last = unit;
      ++units;
      most = std::max(most, ++has_[static_cast<std::size_t>(declustering.holder(unit))]);
    }
    const std::int64_t even = std::max<std::int64_t>(1, divide_up(units, declustering.holders()));
    return static_cast<double>(most) / static_cast<double>(even);
  }

  const ChunkGrid& grid_;
  std::int64_t together_;
  std::vector<std::int64_t> has_;
  double worst_ = 1;
  double sum_ = 0;
};

}  // namespace

Declustering::Declustering(std::int64_t holders) : Declustering(holders, golden) {}

Declustering Declustering::for_grid(const ChunkGrid& grid, std::int64_t together,
                                    std::int64_t holders) {
  Declustering best(holders);
  if (holders == 1 || grid.chunks() == 0) return best;
  Evenness evenness(grid, together);
  auto least = evenness.of(best);
  const auto look_at = [&](std::uint64_t turn) {
    if (least.first <= 1) return;
    const Declustering other(holders, turn);
    const auto found = evenness.of(other);
    if (found < least) {
      least = found;
      best = other;
    }
  };
  for (std::uint64_t m = 1; m < multiples; ++m) look_at(golden * (2 * m + 1));
  for (std::uint64_t m = 0; m < multiples; ++m) look_at(step * m + step / 2 + a_little);
  return best;
}

std::int64_t Declustering::turn(std::int64_t group) const {
  const std::uint64_t fraction = turn_per_group_ * static_cast<std::uint64_t>(group);
  // Computes ⌊holders × fraction / 2^64⌋, from the upper 32 bits of the fraction if there are at
  // most 2^31 holders.
  if (holders_ <= (std::int64_t{1} << 31)) {
    return static_cast<std::int64_t>(((fraction >> 32U) * static_cast<std::uint64_t>(holders_)) >>
                                     32U);
  }
  return static_cast<std::int64_t>(fraction % static_cast<std::uint64_t>(holders_));
}

std::int64_t Declustering::holder(std::int64_t number) const {
  return (number % holders_ + turn(number / holders_)) % holders_;
}

std::int64_t Declustering::number(std::int64_t holder, std::int64_t group) const {
  return group * holders_ + positive_modulo(holder - turn(group), holders_);
}

}  // namespace weir::array
