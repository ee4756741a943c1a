#include "array/common_blocks.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "array/number_theory.hpp"
#include "common/checked.hpp"

namespace weir::array {

CommonBlocks::CommonBlocks(const IndexBlocks& a, const IndexBlocks& b) {
  const std::int64_t lower = std::max(a.lower(), b.lower());
  const std::int64_t upper = std::min(a.upper(), b.upper());
  a_ = a.clipped(lower, upper);
  b_ = b.clipped(lower, upper);
  if (a_.empty() || b_.empty()) return;
  if (a_.is_interval() || b_.is_interval()) {
    a_ = a_.is_interval() ? b_.clipped(a_.lower(), a_.upper()) : a_.clipped(b_.lower(), b_.upper());
    way_ = a_.empty() ? Way::none : Way::single;
    return;
  }
  if (a_.stride() < b_.stride()) std::swap(a_, b_);
  divisor_ = std::gcd(a_.stride(), b_.stride());
  const auto period = checked_multiply(a_.stride() / divisor_, b_.stride());
  const std::int64_t differences = divide_up(a_.length() + b_.length() - 1, divisor_);
  if (!period || *period > upper - lower || differences > a_.blocks()) {
    way_ = Way::by_block;
    return;
  }
  way_ = Way::by_difference;
  period_ = *period;
  const std::int64_t least = 1 - b_.length();
  first_difference_ = least + positive_modulo(b_.origin() - a_.origin() - least, divisor_);
  const std::int64_t modulus = b_.stride() / divisor_;
  inverse_ = inverse_modulo(a_.stride() / divisor_ % modulus, modulus);
}

bool CommonBlocks::next(IndexBlocks& common) {
  switch (way_) {
    case Way::none:
      return false;
    case Way::single:
      if (state_ == 1) return false;
      state_ = 1;
      ++looked_at_;
      common = a_;
      return true;
    case Way::by_difference:
      return next_by_difference(common);
    case Way::by_block:
      return next_by_block(common);
  }
  return false;
}

bool CommonBlocks::next_by_difference(IndexBlocks& common) {
  for (;;) {
    const std::int64_t d = first_difference_ + state_ * divisor_;
    if (d >= a_.length()) return false;
    ++state_;
    ++looked_at_;
    // Solves i · Sa ≡ b − a − d modulo Sb after division by g.
    const std::int64_t i = multiply_modulo((b_.origin() - a_.origin() - d) / divisor_, inverse_,
                                           b_.stride() / divisor_);
    const std::int64_t start = a_.origin() + i * a_.stride();
    const std::int64_t first = start + std::max<std::int64_t>(0, d);
    const std::int64_t end = start + std::min(a_.length(), d + b_.length());
    const std::int64_t lower = std::max(a_.lower(), b_.lower());
    const std::int64_t upper = std::min(a_.upper(), b_.upper());
    common = IndexBlocks::periodic(first, end - first, period_, upper).clipped(lower, upper);
    if (!common.empty()) return true;  // else the only block was cut away at an edge
  }
}

bool CommonBlocks::next_by_block(IndexBlocks& common) {
  // Block i meets B if its first index plus La − 1 lies at most La + Lb − 2 after the start of a
  // block of B.
  const std::int64_t reach = a_.length() + b_.length() - 2;
  while (state_ < a_.blocks()) {
    if (reach < b_.stride() - 1) {
      const std::int64_t place = positive_modulo(
          a_.origin() + state_ * a_.stride() - b_.origin() + a_.length() - 1, b_.stride());
      if (place > reach) {
        const std::int64_t missing = b_.stride() - place;
        const auto blocks = first_in_range(a_.stride(), b_.stride(), missing, missing + reach);
        if (!blocks || *blocks >= a_.blocks() - state_) {
          state_ = a_.blocks();
          return false;
        }
        state_ += *blocks;
      }
    }
    const Interval block = a_.block(state_++);
    ++looked_at_;
    common = b_.clipped(block.lower, block.upper);
    if (!common.empty()) return true;  // else block i is the cut first or last block of A
  }
  return false;
}

std::int64_t common_size(const IndexBlocks& a, const IndexBlocks& b) {
  std::int64_t size = 0;
  CommonBlocks sets(a, b);
  for (IndexBlocks common; sets.next(common);) size += common.size();
  return size;
}

}  // namespace weir::array
