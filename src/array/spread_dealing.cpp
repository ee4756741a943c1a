#include "array/spread_dealing.hpp"

#include <algorithm>
#include <vector>

#include "array/number_theory.hpp"

namespace weir::array {
namespace {

// The golden ratio's fraction of 2^64; odd multiples of it are the other α.
constexpr std::uint64_t golden = 0x9E3779B97F4A7C15U;
constexpr std::uint64_t tried = 16;
// Chunks of one line or square that are looked at.
constexpr std::int64_t looked_at = 256;

// How evenly a dealing spreads boxes of chunks: the most that a holder has, against an even share.
class Evenness {
 public:
  Evenness(const ChunkGrid& grid, std::int64_t together) : grid_(grid), together_(together) {}

  // Of lines along each dimension and squares in each pair of dimensions, at three places.
  double worst(const SpreadDealing& dealing) {
    const Indices& counts = grid_.counts();
    std::int64_t side = 1;
    while (side * side < std::min(dealing.holders(), looked_at)) ++side;
    const std::int64_t line = std::min(2 * dealing.holders(), looked_at);
    double most = 1;
    for (const std::int64_t third : {0, 1, 2}) {
      Indices place;
      for (const std::int64_t count : counts) place.push_back(count * third / 3);
      for (int d = 0; d < counts.size(); ++d) {
        Box box{place, Indices(counts.size(), 1)};
        box.extent[d] = line;
        most = std::max(most, share(dealing, box));
        for (int other = d + 1; other < counts.size(); ++other) {
          box.extent[d] = side;
          box.extent[other] = side;
          most = std::max(most, share(dealing, box));
          box.extent[other] = 1;
        }
      }
    }
    return most;
  }

 private:
  double share(const SpreadDealing& dealing, Box box) {
    box = intersect(box, {Indices(box.dimensions()), grid_.counts()});
    has_.assign(static_cast<std::size_t>(dealing.holders()), 0);
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
      most = std::max(most, ++has_[static_cast<std::size_t>(dealing.holder(unit))]);
    }
    const std::int64_t even = std::max<std::int64_t>(1, divide_up(units, dealing.holders()));
    return static_cast<double>(most) / static_cast<double>(even);
  }

  const ChunkGrid& grid_;
  std::int64_t together_;
  std::vector<std::int64_t> has_;
};

}  // namespace

SpreadDealing::SpreadDealing(std::int64_t holders) : SpreadDealing(holders, golden) {}

SpreadDealing SpreadDealing::for_grid(const ChunkGrid& grid, std::int64_t together,
                                      std::int64_t holders) {
  SpreadDealing best(holders);
  if (holders == 1 || grid.chunks() == 0) return best;
  Evenness evenness(grid, together);
  double least = evenness.worst(best);
  for (std::uint64_t multiple = 1; multiple < tried && least > 1; ++multiple) {
    const SpreadDealing other(holders, golden * (2 * multiple + 1));
    const double worst = evenness.worst(other);
    if (worst < least) {
      least = worst;
      best = other;
    }
  }
  return best;
}

std::int64_t SpreadDealing::turn(std::int64_t group) const {
  const std::uint64_t fraction = turn_per_group_ * static_cast<std::uint64_t>(group);
  // ⌊holders × fraction / 2^64⌋, by the upper 32 bits of the fraction where holders are few.
  if (holders_ <= (std::int64_t{1} << 31)) {
    return static_cast<std::int64_t>(((fraction >> 32U) * static_cast<std::uint64_t>(holders_)) >>
                                     32U);
  }
  return static_cast<std::int64_t>(fraction % static_cast<std::uint64_t>(holders_));
}

std::int64_t SpreadDealing::holder(std::int64_t number) const {
  return (number % holders_ + turn(number / holders_)) % holders_;
}

std::int64_t SpreadDealing::number(std::int64_t holder, std::int64_t group) const {
  return group * holders_ + positive_modulo(holder - turn(group), holders_);
}

}  // namespace weir::array
