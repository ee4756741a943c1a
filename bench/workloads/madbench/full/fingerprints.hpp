// Full mode's record of the numbers that it wrote: a 64-bit fingerprint of every 4096 bytes. Pure.
//
// The payload of full mode is the result of a calculation, so it cannot be generated again for
// comparison. One changed word in a block always changes the block's fingerprint; of other damage,
// one case in 2^64 remains undetected. The fingerprints take 1/512 of the memory of the data that
// they describe.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "measurement/payload.hpp"
#include "workloads/madbench/schedule.hpp"

namespace weir::bench::madbench {

inline constexpr std::size_t fingerprint_words = 512;

[[nodiscard]] std::uint64_t fingerprint(std::span<const std::uint64_t> words);

class Fingerprints {
 public:
  // Records what `writer` writes as its matrix `matrix` at `offset` bytes of the file.
  void note(Function writer, std::int64_t matrix, std::int64_t offset,
            std::span<const std::uint64_t> words);

  // Compares what was read with what `writer` wrote last. Returns nothing if all is right.
  // Otherwise returns one mismatch per run of wrong blocks with a common explanation, at most
  // `most`; the last mismatch counts all that follow.
  [[nodiscard]] std::vector<PayloadMismatch> compare(Function writer, std::int64_t matrix,
                                                     std::span<const std::uint64_t> words,
                                                     std::size_t most = 8) const;

 private:
  struct Noted {
    std::int64_t offset = 0;
    std::vector<std::uint64_t> blocks;
  };
  using Place = std::pair<Function, std::int64_t>;
  struct Finding {
    PayloadErrorKind kind;
    std::string text;
  };
  [[nodiscard]] Finding explain(const Place& place, std::span<const std::uint64_t> block) const;

  std::map<Place, Noted> noted_;
};

}  // namespace weir::bench::madbench
