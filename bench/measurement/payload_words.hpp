// Computes the words of the payload, and inverts a word to the position for which it was made.
//
// `mix` is the finalizing step of SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom
// number generators", OOPSLA 2014, figure 16: variant 13 of Stafford's mixers). `golden` is its
// increment, 2^64 divided by the golden ratio, made odd. Both a xor of a word with its own right
// shift and a multiplication by an odd number are bijections of 64-bit words, hence so is `mix`.
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

  // Returns the pattern with `word` at `position` and with this pattern's compressibility, whatever
  // its seed.
  [[nodiscard]] PayloadPattern through(std::uint64_t word, std::uint64_t position) const;

  [[nodiscard]] std::uint64_t word_at(std::uint64_t position) const;
  // Returns the position whose word stands at `position`: for a repeated word, the first of its
  // page.
  [[nodiscard]] std::uint64_t source_of(std::uint64_t position) const;
  // Returns the only one of the 2^64 positions for which this pattern makes `word`.
  [[nodiscard]] std::uint64_t position_made_for(std::uint64_t word) const;
  [[nodiscard]] bool repeats_words() const { return distinct_ < payload_page_words; }

  void fill(std::uint64_t position, std::span<std::uint64_t> words) const;
  // Returns whether any of `words`, which start at `position`, differs from the pattern.
  [[nodiscard]] bool differs(std::uint64_t position, std::span<const std::uint64_t> words) const;

  // Fills only the word at `position` and then one word in every page length, wherever `buffer`
  // covers them.
  void fill_page_starts(std::uint64_t position, std::span<std::byte> buffer) const;
  [[nodiscard]] bool page_starts_differ(std::uint64_t position,
                                        std::span<const std::byte> buffer) const;

 private:
  std::uint64_t key_;
  std::uint64_t distinct_;  // words of a page before the repeated first word, 1 to 512
};

}  // namespace weir::bench
