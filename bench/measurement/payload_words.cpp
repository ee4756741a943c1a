// One word costs two 64-bit multiplications. Compilers vectorize them well only if the processor
// multiplies 64-bit words in vectors (AVX-512DQ). Therefore the two loops are compiled twice and
// selected at run time; elsewhere the scalar form keeps up with one core's memory. The code selects
// the loop itself and not with ifunc resolvers, which run before the sanitizers' runtime is ready.
#include "measurement/payload_words.hpp"

#include <algorithm>
#include <cstring>

namespace weir::bench {
namespace {

constexpr std::uint64_t golden = 0x9e3779b97f4a7c15U;
constexpr std::uint64_t first_multiplier = 0xbf58476d1ce4e5b9U;
constexpr std::uint64_t second_multiplier = 0x94d049bb133111ebU;

// Returns the inverse of an odd number modulo 2^64. Newton's iteration doubles the number of
// correct low bits; an odd number is its own inverse modulo 8, so five steps exceed 64 bits.
constexpr std::uint64_t inverse_of(std::uint64_t odd) {
  std::uint64_t inverse = odd;
  for (int step = 0; step < 5; ++step) inverse *= 2 - odd * inverse;
  return inverse;
}
static_assert(golden * inverse_of(golden) == 1);
static_assert(first_multiplier * inverse_of(first_multiplier) == 1);
static_assert(second_multiplier * inverse_of(second_multiplier) == 1);

[[gnu::always_inline]] inline std::uint64_t mix_word(std::uint64_t value) {
  value = (value ^ (value >> 30)) * first_multiplier;
  value = (value ^ (value >> 27)) * second_multiplier;
  return value ^ (value >> 31);
}

// The loops work in blocks of a fixed number of words, which compilers unroll and vectorize at any
// level of optimization.
constexpr std::size_t block_words = 64;
constexpr std::size_t line_words = 8;
constexpr std::size_t payload_page_bytes = payload_page_words * sizeof(std::uint64_t);

[[gnu::always_inline]] inline void fill_loop(std::uint64_t start, std::uint64_t* words,
                                             std::size_t count) {
  for (; count >= block_words; count -= block_words, words += block_words) {
    for (std::size_t i = 0; i < block_words; ++i) words[i] = mix_word(start + i * golden);
    start += block_words * golden;
  }
  for (std::size_t i = 0; i < count; ++i) words[i] = mix_word(start + i * golden);
}

// Returns nonzero if a word differs. Prefetches the lines one page ahead while this block is
// compared: the multiplications leave the processor too little room to look that far ahead by
// itself.
[[gnu::always_inline]] inline std::uint64_t compare_loop(std::uint64_t start,
                                                         const std::uint64_t* words,
                                                         std::size_t count) {
  std::uint64_t difference = 0;
  for (; count >= block_words; count -= block_words, words += block_words) {
    if (count >= payload_page_words + block_words) {
      for (std::size_t i = 0; i < block_words; i += line_words) {
        __builtin_prefetch(words + payload_page_words + i);
      }
    }
    for (std::size_t i = 0; i < block_words; ++i) {
      difference |= words[i] ^ mix_word(start + i * golden);
    }
    start += block_words * golden;
  }
  for (std::size_t i = 0; i < count; ++i) difference |= words[i] ^ mix_word(start + i * golden);
  return difference;
}

#if defined(__x86_64__) && defined(__GNUC__)
#define WEIR_VECTOR_MULTIPLY __attribute__((target("avx512f,avx512dq,avx512vl")))
WEIR_VECTOR_MULTIPLY void fill_vectors(std::uint64_t start, std::uint64_t* words,
                                       std::size_t count) {
  fill_loop(start, words, count);
}
WEIR_VECTOR_MULTIPLY std::uint64_t compare_vectors(std::uint64_t start, const std::uint64_t* words,
                                                   std::size_t count) {
  return compare_loop(start, words, count);
}
bool has_vector_multiply() {
  return __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vl") != 0;
}
#else
void fill_vectors(std::uint64_t start, std::uint64_t* words, std::size_t count) {
  fill_loop(start, words, count);
}
std::uint64_t compare_vectors(std::uint64_t start, const std::uint64_t* words, std::size_t count) {
  return compare_loop(start, words, count);
}
bool has_vector_multiply() { return false; }
#endif

void fill_sequence(std::uint64_t start, std::span<std::uint64_t> words) {
  if (has_vector_multiply()) {
    fill_vectors(start, words.data(), words.size());
  } else {
    fill_loop(start, words.data(), words.size());
  }
}

bool differs_from_sequence(std::uint64_t start, std::span<const std::uint64_t> words) {
  if (has_vector_multiply()) return compare_vectors(start, words.data(), words.size()) != 0;
  return compare_loop(start, words.data(), words.size()) != 0;
}

bool differs_from_constant(std::uint64_t constant, std::span<const std::uint64_t> words) {
  // All words are equal if the first is right and each equals its neighbour.
  return words[0] != constant ||
         std::memcmp(words.data(), words.data() + 1, words.size_bytes() - sizeof constant) != 0;
}

// No two pairs (file, generation) of one seed share a key, because every step is a bijection.
std::uint64_t key_of(const PayloadStream& stream) {
  const std::uint64_t place = (static_cast<std::uint64_t>(stream.file) << 32U) | stream.generation;
  return mix_word(mix_word(stream.seed + golden) ^ mix_word(place + golden));
}

std::uint64_t distinct_words(int compressible_percent) {
  const auto percent = static_cast<std::uint64_t>(std::clamp(compressible_percent, 0, 100));
  return std::max<std::uint64_t>(1, payload_page_words - payload_page_words * percent / 100);
}

}  // namespace

std::uint64_t mix(std::uint64_t value) { return mix_word(value); }

std::uint64_t unmix(std::uint64_t word) {
  word ^= (word >> 31) ^ (word >> 62);
  word *= inverse_of(second_multiplier);
  word ^= (word >> 27) ^ (word >> 54);
  word *= inverse_of(first_multiplier);
  return word ^ (word >> 30) ^ (word >> 60);
}

PayloadPattern::PayloadPattern(const PayloadStream& stream)
    : key_(key_of(stream)), distinct_(distinct_words(stream.compressible_percent)) {}

PayloadPattern PayloadPattern::through(std::uint64_t word, std::uint64_t position) const {
  PayloadPattern pattern = *this;
  pattern.key_ = unmix(word) - source_of(position) * golden;
  return pattern;
}

std::uint64_t PayloadPattern::source_of(std::uint64_t position) const {
  const std::uint64_t within = position % payload_page_words;
  return within < distinct_ ? position : position - within;
}

std::uint64_t PayloadPattern::word_at(std::uint64_t position) const {
  return mix_word(key_ + source_of(position) * golden);
}

std::uint64_t PayloadPattern::position_made_for(std::uint64_t word) const {
  return (unmix(word) - key_) * inverse_of(golden);
}

void PayloadPattern::fill(std::uint64_t position, std::span<std::uint64_t> words) const {
  if (!repeats_words()) {
    fill_sequence(key_ + position * golden, words);
    return;
  }
  while (!words.empty()) {
    const std::uint64_t within = position % payload_page_words;
    const bool repeated = within >= distinct_;
    const std::uint64_t stretch_end = repeated ? payload_page_words : distinct_;
    const auto count = std::min<std::size_t>(words.size(), stretch_end - within);
    if (repeated) {
      std::ranges::fill(words.first(count), word_at(position));
    } else {
      fill_sequence(key_ + position * golden, words.first(count));
    }
    position += count;
    words = words.subspan(count);
  }
}

bool PayloadPattern::differs(std::uint64_t position, std::span<const std::uint64_t> words) const {
  if (!repeats_words()) return differs_from_sequence(key_ + position * golden, words);
  while (!words.empty()) {
    const std::uint64_t within = position % payload_page_words;
    const bool repeated = within >= distinct_;
    const std::uint64_t stretch_end = repeated ? payload_page_words : distinct_;
    const auto count = std::min<std::size_t>(words.size(), stretch_end - within);
    const bool wrong = repeated
                           ? differs_from_constant(word_at(position), words.first(count))
                           : differs_from_sequence(key_ + position * golden, words.first(count));
    if (wrong) return true;
    position += count;
    words = words.subspan(count);
  }
  return false;
}

// Words one page apart have the same place in their pages, so their sources are also one page
// apart.
void PayloadPattern::fill_page_starts(std::uint64_t position, std::span<std::byte> buffer) const {
  std::uint64_t value = key_ + source_of(position) * golden;
  for (std::size_t at = 0; at + sizeof value <= buffer.size(); at += payload_page_bytes) {
    const std::uint64_t word = mix_word(value);
    std::memcpy(buffer.data() + at, &word, sizeof word);
    value += payload_page_words * golden;
  }
}

bool PayloadPattern::page_starts_differ(std::uint64_t position,
                                        std::span<const std::byte> buffer) const {
  std::uint64_t value = key_ + source_of(position) * golden;
  std::uint64_t difference = 0;
  for (std::size_t at = 0; at + sizeof value <= buffer.size(); at += payload_page_bytes) {
    std::uint64_t word = 0;
    std::memcpy(&word, buffer.data() + at, sizeof word);
    difference |= word ^ mix_word(value);
    value += payload_page_words * golden;
  }
  return difference != 0;
}

}  // namespace weir::bench
