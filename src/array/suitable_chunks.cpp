#include "array/suitable_chunks.hpp"

#include <algorithm>

#include "array/number_theory.hpp"

namespace weir::array {
namespace {

// Maximum number of extents that are tried as a divisor.
constexpr std::int64_t tried_extents = 1 << 16;

std::int64_t product(const Indices& extents) {
  std::int64_t all = 1;  // at most 2^62, the limit of Shape
  for (const std::int64_t extent : extents) all *= extent;
  return all;
}

// Returns the greatest divisor of `whole` from `wanted` down to half of it, or else the least
// divisor up to `most`, or else the length that cuts `whole` into as many parts as `wanted` does,
// all equal except the last.
std::int64_t part_of(std::int64_t whole, std::int64_t wanted, std::int64_t most) {
  const std::int64_t lowest = std::max({std::int64_t{1}, wanted / 2, wanted - tried_extents});
  for (std::int64_t part = wanted; part >= lowest; --part) {
    if (whole % part == 0) return part;
  }
  const std::int64_t highest = std::min({whole, most, wanted + tried_extents});
  for (std::int64_t part = wanted + 1; part <= highest; ++part) {
    if (whole % part == 0) return part;
  }
  return divide_up(whole, divide_up(whole, wanted));
}

class Choice {
 public:
  Choice(Order order, std::int64_t element_bytes, const Indices& unit)
      : order_(order),
        wanted_(std::max<std::int64_t>(1, wanted_chunk_bytes / element_bytes)),
        most_(std::max<std::int64_t>(1, most_chosen_chunk_bytes / element_bytes)),
        chunk_(unit) {}

  [[nodiscard]] bool fits() const { return product(chunk_) <= wanted_; }
  [[nodiscard]] const Indices& chunk() const { return chunk_; }

  void cut() {
    for (int depth = 0; depth < chunk_.size() && !fits(); ++depth) {
      std::int64_t& extent = chunk_[dimension_at_depth(order_, chunk_.size(), depth)];
      const std::int64_t rest = product(chunk_) / extent;
      extent = rest >= wanted_ ? 1 : part_of(extent, wanted_ / rest, most_ / rest);
      if (rest < wanted_) return;
    }
  }

  // Joins chunks of the array of extents `all`, beginning with the fastest dimension, while the
  // result fits.
  void join(const Indices& all) {
    for (int depth = chunk_.size() - 1; depth >= 0; --depth) {
      const int d = dimension_at_depth(order_, chunk_.size(), depth);
      const std::int64_t there = divide_up(all[d], chunk_[d]);
      const std::int64_t fitting = wanted_ / product(chunk_);
      if (fitting < 2) return;
      if (fitting < there) {
        chunk_[d] *= part_of(there, fitting, fitting);
        return;
      }
      chunk_[d] = all[d];
    }
  }

 private:
  Order order_;
  std::int64_t wanted_;  // elements
  std::int64_t most_;
  Indices chunk_;
};

}  // namespace

Indices suitable_chunks(const Indices& extents, Order order, std::int64_t element_bytes,
                        const std::optional<Indices>& block) {
  Indices all = extents;
  for (std::int64_t& extent : all) extent = std::max<std::int64_t>(1, extent);
  Choice whole(order, element_bytes, all);
  if (whole.fits()) return all;
  if (!block) {
    whole.cut();
    return whole.chunk();
  }
  Indices unit = all;
  for (int d = 0; d < all.size(); ++d) {
    unit[d] = std::clamp<std::int64_t>((*block)[d], 1, all[d]);
  }
  Choice choice(order, element_bytes, unit);
  if (choice.fits()) {
    choice.join(all);
  } else {
    choice.cut();
  }
  return choice.chunk();
}

}  // namespace weir::array
