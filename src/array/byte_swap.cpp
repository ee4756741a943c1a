#include "array/byte_swap.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace weir::array {
namespace {

template <typename Word>
Word reversed(Word word) {
  if constexpr (sizeof(Word) == 2) return __builtin_bswap16(word);
  if constexpr (sizeof(Word) == 4) return __builtin_bswap32(word);
  if constexpr (sizeof(Word) == 8) return __builtin_bswap64(word);
}

// The compiler vectorizes this function if the target processor has suitable instructions.
template <typename Word>
void swap_words(const std::byte* from, std::byte* to, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += sizeof(Word)) {
    Word word = 0;
    std::memcpy(&word, from + at, sizeof(Word));
    word = reversed(word);
    std::memcpy(to + at, &word, sizeof(Word));
  }
}

template <typename Word>
void swap_runs_by_words(const std::byte* from, std::byte* to, const CopyLevel& level,
                        std::size_t size) {
  for (std::int64_t k = 0; k < level.count; ++k) {
    swap_words<Word>(from, to, size);
    from += level.from_stride;
    to += level.to_stride;
  }
}

#if defined(__x86_64__)

constexpr std::size_t cache_line = 64;
constexpr std::size_t width = 32;

bool has_wide_shuffles() {
  static const bool has = __builtin_cpu_supports("avx2") != 0;
  return has;
}

// Returns the shuffle that reverses the bytes of each number of Word's size in 16 bytes.
template <typename Word>
__m128i shuffle_of() {
  alignas(16) char order[16];
  for (std::size_t i = 0; i < 16; ++i) {
    order[i] =
        static_cast<char>(i / sizeof(Word) * sizeof(Word) + sizeof(Word) - 1 - i % sizeof(Word));
  }
  return _mm_load_si128(reinterpret_cast<const __m128i*>(order));
}

__attribute__((target("avx2"))) inline __m256i shuffled(const std::byte* from, __m256i order) {
  return _mm256_shuffle_epi8(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)), order);
}

// `fixed` is the size of a run if it is known at compile time, so that each run becomes a few
// moves; if it is 0, `size` is the size of a run.
template <typename Word, std::size_t fixed>
__attribute__((target("avx2"))) void swap_runs_by_vectors(const std::byte* from, std::byte* to,
                                                          const CopyLevel& level,
                                                          std::size_t size) {
  const std::size_t bytes = fixed > 0 ? fixed : size;
  const __m256i order = _mm256_broadcastsi128_si256(shuffle_of<Word>());
  for (std::int64_t k = 0; k < level.count; ++k) {
    std::size_t at = 0;
    for (; at + 2 * width <= bytes; at += 2 * width) {
      const __m256i a = shuffled(from + at, order);
      const __m256i b = shuffled(from + at + width, order);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + at), a);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + at + width), b);
    }
    if (at + width <= bytes) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + at), shuffled(from + at, order));
      at += width;
    }
    swap_words<Word>(from + at, to + at, bytes - at);
    from += level.from_stride;
    to += level.to_stride;
  }
}

// `to` and `size` are multiples of 8, as runs_can_stream() requires.
template <typename Word>
void stream_words(const std::byte* from, std::byte* to, std::size_t size) {
  for (std::size_t at = 0; at < size; at += sizeof(long long)) {
    long long value = 0;
    swap_words<Word>(from + at, reinterpret_cast<std::byte*>(&value), sizeof(value));
    _mm_stream_si64(reinterpret_cast<long long*>(to + at), value);
  }
}

template <typename Word>
__attribute__((target("avx2"))) void stream_runs_by_vectors(const std::byte* from, std::byte* to,
                                                            const CopyLevel& level,
                                                            std::size_t size) {
  const __m256i order = _mm256_broadcastsi128_si256(shuffle_of<Word>());
  for (std::int64_t k = 0; k < level.count; ++k) {
    const std::size_t before_line =
        (cache_line - reinterpret_cast<std::uintptr_t>(to) % cache_line) % cache_line;
    std::size_t at = std::min(before_line, size);
    stream_words<Word>(from, to, at);
    for (; at + cache_line <= size; at += cache_line) {
      const __m256i a = shuffled(from + at, order);
      const __m256i b = shuffled(from + at + width, order);
      _mm256_stream_si256(reinterpret_cast<__m256i*>(to + at), a);
      _mm256_stream_si256(reinterpret_cast<__m256i*>(to + at + width), b);
    }
    stream_words<Word>(from + at, to + at, size - at);
    from += level.from_stride;
    to += level.to_stride;
  }
}

#endif

template <typename Word>
void swap_level(const std::byte* from, std::byte* to, const CopyLevel& level, std::size_t size) {
#if defined(__x86_64__)
  if (size >= width && has_wide_shuffles()) {
    if (size == width) return swap_runs_by_vectors<Word, width>(from, to, level, size);
    if (size == cache_line) return swap_runs_by_vectors<Word, cache_line>(from, to, level, size);
    if (size == 2 * cache_line)
      return swap_runs_by_vectors<Word, 2 * cache_line>(from, to, level, size);
    return swap_runs_by_vectors<Word, 0>(from, to, level, size);
  }
#endif
  swap_runs_by_words<Word>(from, to, level, size);
}

template <typename Word>
void stream_level(const std::byte* from, std::byte* to, const CopyLevel& level, std::size_t size) {
#if defined(__x86_64__)
  if (has_wide_shuffles()) return stream_runs_by_vectors<Word>(from, to, level, size);
#endif
  swap_runs_by_words<Word>(from, to, level, size);
}

}  // namespace

void copy_swapped(const std::byte* from, std::byte* to, std::int64_t bytes,
                  std::int64_t number_bytes) {
  assert(bytes >= 0 && bytes % number_bytes == 0);
  const auto size = static_cast<std::size_t>(bytes);
  if (number_bytes != 1) return swap_runs(from, to, {1, 0, 0}, size, number_bytes);
  if (from != to && size > 0) std::memcpy(to, from, size);
}

void swap_runs(const std::byte* from, std::byte* to, const CopyLevel& level, std::size_t size,
               std::int64_t number_bytes) {
  switch (number_bytes) {
    case 2:
      return swap_level<std::uint16_t>(from, to, level, size);
    case 4:
      return swap_level<std::uint32_t>(from, to, level, size);
    default:
      assert(number_bytes == 8);
      return swap_level<std::uint64_t>(from, to, level, size);
  }
}

void stream_swapped_runs(const std::byte* from, std::byte* to, const CopyLevel& level,
                         std::size_t size, std::int64_t number_bytes) {
  switch (number_bytes) {
    case 2:
      return stream_level<std::uint16_t>(from, to, level, size);
    case 4:
      return stream_level<std::uint32_t>(from, to, level, size);
    default:
      assert(number_bytes == 8);
      return stream_level<std::uint64_t>(from, to, level, size);
  }
}

}  // namespace weir::array
