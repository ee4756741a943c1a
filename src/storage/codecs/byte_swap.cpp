#include "storage/codecs/byte_swap.hpp"

#include <cassert>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace weir::storage {
namespace {

template <typename Word>
Word reversed(Word word) {
  if constexpr (sizeof(Word) == 2) return __builtin_bswap16(word);
  if constexpr (sizeof(Word) == 4) return __builtin_bswap32(word);
  if constexpr (sizeof(Word) == 8) return __builtin_bswap64(word);
}

// Compilers make vector instructions of this where the processor they compile for has them.
template <typename Word>
void swap_words(const std::byte* from, std::byte* to, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += sizeof(Word)) {
    Word word = 0;
    std::memcpy(&word, from + at, sizeof(Word));
    word = reversed(word);
    std::memcpy(to + at, &word, sizeof(Word));
  }
}

#if defined(__x86_64__)

// Reverses the bytes of numbers in 16 bytes: numbers of Word's size lie in them whole.
template <typename Word>
__m128i shuffle_of() {
  alignas(16) char order[16];
  for (std::size_t i = 0; i < 16; ++i) {
    order[i] =
        static_cast<char>(i / sizeof(Word) * sizeof(Word) + sizeof(Word) - 1 - i % sizeof(Word));
  }
  return _mm_load_si128(reinterpret_cast<const __m128i*>(order));
}

template <typename Word>
__attribute__((target("avx2"))) void swap_by_vectors(const std::byte* from, std::byte* to,
                                                     std::size_t bytes) {
  constexpr std::size_t width = 32;
  const __m256i order = _mm256_broadcastsi128_si256(shuffle_of<Word>());
  std::size_t at = 0;
  for (; at + 2 * width <= bytes; at += 2 * width) {
    const __m256i a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + at));
    const __m256i b = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + at + width));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + at), _mm256_shuffle_epi8(a, order));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + at + width), _mm256_shuffle_epi8(b, order));
  }
  swap_words<Word>(from + at, to + at, bytes - at);
}

bool has_wide_shuffles() {
  static const bool has = __builtin_cpu_supports("avx2") != 0;
  return has;
}

#endif

template <typename Word>
void swap(const std::byte* from, std::byte* to, std::size_t bytes) {
#if defined(__x86_64__)
  if (has_wide_shuffles()) return swap_by_vectors<Word>(from, to, bytes);
#endif
  swap_words<Word>(from, to, bytes);
}

}  // namespace

void copy_swapped(const std::byte* from, std::byte* to, std::int64_t bytes,
                  std::int64_t number_bytes) {
  assert(bytes >= 0 && bytes % number_bytes == 0);
  const auto size = static_cast<std::size_t>(bytes);
  switch (number_bytes) {
    case 2:
      return swap<std::uint16_t>(from, to, size);
    case 4:
      return swap<std::uint32_t>(from, to, size);
    case 8:
      return swap<std::uint64_t>(from, to, size);
    default:
      assert(number_bytes == 1);
      if (from != to && size > 0) std::memcpy(to, from, size);
  }
}

}  // namespace weir::storage
