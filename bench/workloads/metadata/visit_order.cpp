#include "workloads/metadata/visit_order.hpp"

namespace weir::bench::metadata {
namespace {

constexpr int rounds = 4;

// Mixes the word so that every bit depends on every other bit.
std::uint64_t finished(std::uint64_t word) {
  word = (word ^ (word >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  word = (word ^ (word >> 27U)) * 0x94d049bb133111ebULL;
  return word ^ (word >> 31U);
}

}  // namespace

std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  return finished(finished(a + 0x9e3779b97f4a7c15ULL) + b);
}

Permutation::Permutation(std::int64_t count, std::uint64_t key)
    : count_(static_cast<std::uint64_t>(count)), key_(key) {
  while ((std::uint64_t{1} << (2U * static_cast<unsigned>(half_bits_))) < count_) ++half_bits_;
}

std::uint64_t Permutation::once(std::uint64_t value) const {
  const auto bits = static_cast<unsigned>(half_bits_);
  const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
  std::uint64_t left = value >> bits;
  std::uint64_t right = value & mask;
  for (int round = 0; round < rounds; ++round) {
    const std::uint64_t next =
        left ^ (mixed(key_ + static_cast<std::uint64_t>(round), right) & mask);
    left = right;
    right = next;
  }
  return (left << bits) | right;
}

std::int64_t Permutation::operator()(std::int64_t place) const {
  if (count_ < 2) return place;
  std::uint64_t value = once(static_cast<std::uint64_t>(place));
  while (value >= count_) value = once(value);
  return static_cast<std::int64_t>(value);
}

}  // namespace weir::bench::metadata
