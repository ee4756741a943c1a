// The order in which a rank visits its items: as they were made, or at random without a table.
#pragma once

#include <cstdint>

namespace weir::bench::metadata {

// A permutation of 0 … count-1 chosen by a key: a Feistel network over the next power of four,
// repeated until it lands below `count`. Constant memory, on average less than four rounds of it.
class Permutation {
 public:
  Permutation(std::int64_t count, std::uint64_t key);
  [[nodiscard]] std::int64_t operator()(std::int64_t place) const;

 private:
  [[nodiscard]] std::uint64_t once(std::uint64_t value) const;

  std::uint64_t count_;
  std::uint64_t key_;
  int half_bits_ = 1;
};

// A well-mixed word of two; the same on every machine.
[[nodiscard]] std::uint64_t mixed(std::uint64_t a, std::uint64_t b);

}  // namespace weir::bench::metadata
