// The order in which a rank visits its items: as they were created, or at random without a table.
#pragma once

#include <cstdint>

namespace weir::bench::metadata {

// A permutation of 0 … count-1 selected by a key: a Feistel network over the next power of four,
// repeated until the result is below `count`. It takes constant memory and on average less than
// four applications.
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

// Returns a well-mixed word from two words; the result is the same on every machine.
[[nodiscard]] std::uint64_t mixed(std::uint64_t a, std::uint64_t b);

}  // namespace weir::bench::metadata
