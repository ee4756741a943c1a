#include "array/copy_kernels.hpp"

#include <algorithm>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace weir::array {
namespace {

constexpr std::size_t line = 64;  // bytes of a cache line

// Copies the runs of `level`. Their size is known at compile time, so that each becomes a few moves
// without a call. A level that is passed by value stays in registers: the compiler cannot know that
// no run is stored over one that is passed by reference.
template <std::size_t size>
void copy_fixed(const std::byte* from, std::byte* to, CopyLevel level) {
  for (std::int64_t k = 0; k < level.count; ++k) {
    std::memcpy(to, from, size);
    from += level.from_stride;
    to += level.to_stride;
  }
}

void copy_by_calls(const std::byte* from, std::byte* to, const CopyLevel& level, std::size_t size) {
  for (std::int64_t k = 0; k < level.count; ++k) {
    std::memcpy(to, from, size);
    from += level.from_stride;
    to += level.to_stride;
  }
}

#if defined(__x86_64__)

constexpr std::size_t called_bytes = 4 << 10;  // from this size on memcpy() is as fast
constexpr std::size_t half_line = line / 2;

bool has_half_lines() {
  static const bool has = __builtin_cpu_supports("avx2") != 0;
  return has;
}

// Copies runs of half a line, or of a multiple of it. Moves of a quarter of a line, which the
// compiler chooses without this function, take 1.2 to 1.5 times as long for runs of 64 bytes that
// are in the caches (EPYC with 512 KiB of L2 for each core).
template <std::size_t size>
__attribute__((target("avx2"))) void copy_by_half_lines(const std::byte* from, std::byte* to,
                                                        CopyLevel level) {
  static_assert(size % half_line == 0);
  for (std::int64_t k = 0; k < level.count; ++k) {
#pragma GCC unroll 4
    for (std::size_t at = 0; at < size; at += half_line) {
      const __m256i half = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + at));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + at), half);
    }
    from += level.from_stride;
    to += level.to_stride;
  }
}

// memcpy() takes 1.6 times as long as this function for rows of 1 and 2 KiB that are in memory, and
// 1.1 times as long for shorter rows (glibc 2.36 on Zen 4).
__attribute__((target("avx512f"))) void copy_by_lines(const std::byte* from, std::byte* to,
                                                      const CopyLevel& level, std::size_t size) {
  for (std::int64_t k = 0; k < level.count; ++k) {
    for (std::size_t at = 0; at + line <= size; at += line) {
      _mm512_storeu_si512(to + at, _mm512_loadu_si512(from + at));
    }
    // Copies the remaining bytes together with bytes that were already copied.
    _mm512_storeu_si512(to + size - line, _mm512_loadu_si512(from + size - line));
    from += level.from_stride;
    to += level.to_stride;
  }
}

bool has_wide_moves() {
  static const bool has = __builtin_cpu_supports("avx512f") != 0;
  return has;
}

#endif

// Copies runs of half a line, one line or two.
template <std::size_t size>
void copy_lines(const std::byte* from, std::byte* to, const CopyLevel& level) {
#if defined(__x86_64__)
  if (has_half_lines()) return copy_by_half_lines<size>(from, to, level);
#endif
  copy_fixed<size>(from, to, level);
}

void copy_long(const std::byte* from, std::byte* to, const CopyLevel& level, std::size_t size) {
#if defined(__x86_64__)
  if (size >= 2 * line && size < called_bytes && has_wide_moves()) {
    return copy_by_lines(from, to, level, size);
  }
#endif
  copy_by_calls(from, to, level, size);
}

}  // namespace

void copy_runs(const std::byte* from, std::byte* to, const CopyLevel& level, std::size_t size) {
  switch (size) {
    case 1:
      return copy_fixed<1>(from, to, level);
    case 2:
      return copy_fixed<2>(from, to, level);
    case 4:
      return copy_fixed<4>(from, to, level);
    case 8:
      return copy_fixed<8>(from, to, level);
    case 16:
      return copy_fixed<16>(from, to, level);
    case 32:
      return copy_lines<32>(from, to, level);
    case 64:
      return copy_lines<64>(from, to, level);
    case 128:
      return copy_lines<128>(from, to, level);
    default:
      return copy_long(from, to, level, size);
  }
}

#if defined(__x86_64__)

namespace {

constexpr std::uintptr_t native_word = sizeof(long long);

void stream_words(const std::byte* from, std::byte* to, std::size_t size) {
  for (std::size_t at = 0; at < size; at += native_word) {
    long long value = 0;
    std::memcpy(&value, from + at, native_word);
    _mm_stream_si64(reinterpret_cast<long long*>(to + at), value);
  }
}

__m128i quarter(const std::byte* from) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
}

void stream_quarter(std::byte* to, __m128i value) {
  _mm_stream_si128(reinterpret_cast<__m128i*>(to), value);
}

// `to` and `size` are multiples of the size of a word.
void stream_run(const std::byte* from, std::byte* to, std::size_t size) {
  const std::size_t before_line = (line - reinterpret_cast<std::uintptr_t>(to) % line) % line;
  std::size_t at = std::min(before_line, size);
  stream_words(from, to, at);
  for (; at + line <= size; at += line) {
    const __m128i a = quarter(from + at);
    const __m128i b = quarter(from + at + 16);
    const __m128i c = quarter(from + at + 32);
    const __m128i d = quarter(from + at + 48);
    stream_quarter(to + at, a);
    stream_quarter(to + at + 16, b);
    stream_quarter(to + at + 32, c);
    stream_quarter(to + at + 48, d);
  }
  stream_words(from + at, to + at, size - at);
}

// Streams runs that are lines of the target.
__attribute__((target("avx2"))) void stream_lines(const std::byte* from, std::byte* to,
                                                  CopyLevel level, std::size_t size) {
  for (std::int64_t k = 0; k < level.count; ++k) {
    for (std::size_t at = 0; at < size; at += line) {
      const __m256i a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + at));
      const __m256i b = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + at + half_line));
      _mm256_stream_si256(reinterpret_cast<__m256i*>(to + at), a);
      _mm256_stream_si256(reinterpret_cast<__m256i*>(to + at + half_line), b);
    }
    from += level.from_stride;
    to += level.to_stride;
  }
}

// Returns whether each run begins and ends with a line of the target.
bool are_lines(const std::byte* to, const CopyLevel& level, std::size_t size) {
  const auto address = reinterpret_cast<std::uintptr_t>(to);
  const auto stride = static_cast<std::uintptr_t>(level.to_stride);
  return (address | stride | size) % line == 0;
}

}  // namespace

bool runs_can_stream(const std::byte* to, const CopyLevel& level, std::size_t size) {
  const auto address = reinterpret_cast<std::uintptr_t>(to);
  if ((address | size) % native_word != 0 || !runs_can_stream_by(level.to_stride)) return false;
  // Streaming is slow if many cache lines are written in part.
  if (size >= 4 * line || are_lines(to, level, size)) return true;
  return size >= 2 * line && level.to_stride == static_cast<std::int64_t>(size);
}

bool runs_can_stream_by(std::int64_t to_stride) {
  return to_stride % static_cast<std::int64_t>(native_word) == 0;
}

void stream_runs(const std::byte* from, std::byte* to, const CopyLevel& level, std::size_t size) {
  if (are_lines(to, level, size) && has_half_lines()) return stream_lines(from, to, level, size);
  for (std::int64_t k = 0; k < level.count; ++k) {
    stream_run(from, to, size);
    from += level.from_stride;
    to += level.to_stride;
  }
}

void stream_bytes(const std::byte* from, std::byte* to, std::size_t size) {
  if (size < least_streamed_bytes) {
    std::memcpy(to, from, size);
    return;
  }
  const auto address = reinterpret_cast<std::uintptr_t>(to);
  // Words of two pieces that meet in a line are written to memory as one line.
  if ((address | size) % native_word == 0) return stream_run(from, to, size);
  const std::size_t before = (line - address % line) % line;
  const std::size_t after = (size - before) % line;
  std::memcpy(to, from, before);
  stream_run(from + before, to + before, size - before - after);
  std::memcpy(to + size - after, from + size - after, after);
}

void end_streaming() { _mm_sfence(); }

#else

bool runs_can_stream(const std::byte*, const CopyLevel&, std::size_t) { return false; }

bool runs_can_stream_by(std::int64_t) { return false; }

void stream_runs(const std::byte* from, std::byte* to, const CopyLevel& level, std::size_t size) {
  copy_runs(from, to, level, size);
}

void stream_bytes(const std::byte* from, std::byte* to, std::size_t size) {
  std::memcpy(to, from, size);
}

void end_streaming() {}

#endif

}  // namespace weir::array
