// The payload's words: how one is made, and how it tells what it was made for.
//
// mix is the finalising step of SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom
// number generators", OOPSLA 2014, figure 16: variant 13 of Stafford's mixers); golden is its
// increment, 2^64 divided by the golden ratio, made odd. A xor with an own right shift and a
// multiplication by an odd number are both bijections of 64-bit words, hence so is mix.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "measurement/payload.hpp"

namespace weir::bench {

inline constexpr std::uint64_t payload_page_words = 512;  // 4096 bytes

[[nodiscard]] std::uint64_t mix(std::uint64_t value);
[[nodiscard]] std::uint64_t unmix(std::uint64_t word);  // unmix(mix(x)) == x

// The words of one stream as a function of their position in the file.
class PayloadPattern {
 public:
  explicit PayloadPattern(const PayloadStream& stream);

  // The pattern that has `word` at `position`, whatever its seed, with this pattern's
  // compressibility.
  [[nodiscard]] PayloadPattern through(std::uint64_t word, std::uint64_t position) const;

  [[nodiscard]] std::uint64_t word_at(std::uint64_t position) const;
  // The position whose word stands at `position`: its page's first for a repeated word.
  [[nodiscard]] std::uint64_t source_of(std::uint64_t position) const;
  // The one position of 2^64 that this pattern makes `word` for.
  [[nodiscard]] std::uint64_t position_made_for(std::uint64_t word) const;
  [[nodiscard]] bool repeats_words() const { return distinct_ < payload_page_words; }

  void fill(std::uint64_t position, std::span<std::uint64_t> words) const;
  // Whether any of `words`, which stand at `position` and after, is not the pattern's.
  [[nodiscard]] bool differs(std::uint64_t position, std::span<const std::uint64_t> words) const;

  // Only the words at `position` and every page's length after it, for the buffer's words there.
  void fill_page_starts(std::uint64_t position, std::span<std::byte> buffer) const;
  [[nodiscard]] bool page_starts_differ(std::uint64_t position,
                                        std::span<const std::byte> buffer) const;

 private:
  std::uint64_t key_;
  std::uint64_t distinct_;  // words of a page before the first word is repeated, 1 to 512
};

}  // namespace weir::bench
