// A checksum is a polynomial over the two-element field modulo the Castagnoli polynomial, with its
// coefficient of x^31 in the lowest bit. Appending n bytes multiplies it by x^(8 n), so checksums
// of parts can be computed in parallel and combined. The instruction, which has a latency of three
// cycles, can then be issued in every cycle. Processors that multiply such polynomials in wide
// registers use this instruction only for the last bytes: the bytes that were read are multiplied
// and added to bytes further on.
#include "common/crc32c.hpp"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_acle.h>
#include <sys/auxv.h>
#endif

namespace weir::storage {
namespace {

constexpr std::uint32_t polynomial = 0x82F63B78U;
constexpr std::uint32_t one = std::uint32_t{1} << 31;  // x^0

// The products of a multiplication by a constant. A multiplication takes one look-up per byte of
// the other factor.
using ByteTables = std::array<std::array<std::uint32_t, 256>, 4>;

constexpr std::uint32_t times_x(std::uint32_t sum) {
  return (sum >> 1) ^ ((sum & 1) != 0 ? polynomial : 0U);
}

constexpr std::uint32_t product(std::uint32_t a, std::uint32_t b) {
  std::uint32_t result = 0;
  for (std::uint32_t bit = one; bit != 0; bit >>= 1) {
    if ((a & bit) != 0) result ^= b;
    b = times_x(b);
  }
  return result;
}

// Returns x^(8 bytes).
constexpr std::uint32_t power(std::uint64_t bytes) {
  std::uint32_t base = one >> 8;
  std::uint32_t result = one;
  for (; bytes != 0; bytes >>= 1) {
    if ((bytes & 1) != 0) result = product(result, base);
    base = product(base, base);
  }
  return result;
}

constexpr std::array<std::uint32_t, 256> byte_table = [] {
  std::array<std::uint32_t, 256> made{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t rest = i;
    for (int bit = 0; bit < 8; ++bit) rest = times_x(rest);
    made[i] = rest;
  }
  return made;
}();

std::uint32_t sum_by_table(std::span<const std::byte> bytes, std::uint32_t sum) {
  for (const std::byte next : bytes) {
    sum = (sum >> 8) ^ byte_table[(sum ^ static_cast<std::uint32_t>(next)) & 0xFFU];
  }
  return sum;
}

#if defined(__x86_64__) || defined(__aarch64__)

// Number of bytes of each of the three parallel streams, which is small enough for the L1 cache.
constexpr std::size_t stream_bytes = 4096;

ByteTables tables_of(std::uint32_t factor) {
  ByteTables tables{};
  for (std::uint32_t byte = 0; byte < 4; ++byte) {
    for (std::uint32_t i = 0; i < 256; ++i) tables[byte][i] = product(i << (8 * byte), factor);
  }
  return tables;
}

std::uint32_t multiplied(const ByteTables& by, std::uint64_t sum) {
  return by[0][sum & 0xFF] ^ by[1][sum >> 8 & 0xFF] ^ by[2][sum >> 16 & 0xFF] ^ by[3][sum >> 24];
}

std::uint64_t word_at(const std::byte* from) {
  std::uint64_t word = 0;
  std::memcpy(&word, from, sizeof(word));
  return word;
}

#if defined(__x86_64__)
#define WEIR_HAS_CRC_INSTRUCTION __attribute__((target("sse4.2")))
WEIR_HAS_CRC_INSTRUCTION inline std::uint64_t step(std::uint64_t sum, std::uint64_t word) {
  return _mm_crc32_u64(sum, word);
}
bool has_instruction() {
  static const bool has = __builtin_cpu_supports("sse4.2") != 0;
  return has;
}
#else
#define WEIR_HAS_CRC_INSTRUCTION __attribute__((target("+crc")))
WEIR_HAS_CRC_INSTRUCTION inline std::uint64_t step(std::uint64_t sum, std::uint64_t word) {
  return __crc32cd(static_cast<std::uint32_t>(sum), word);
}
bool has_instruction() {
  static const bool has = (getauxval(AT_HWCAP) & (1UL << 7)) != 0;  // HWCAP_CRC32
  return has;
}
#endif

WEIR_HAS_CRC_INSTRUCTION std::uint32_t sum_by_instruction(std::span<const std::byte> bytes,
                                                          std::uint32_t start) {
  static const ByteTables by_one_stream = tables_of(power(stream_bytes));
  static const ByteTables by_two_streams = tables_of(power(2 * stream_bytes));
  constexpr std::size_t word = sizeof(std::uint64_t);
  const std::byte* from = bytes.data();
  std::size_t left = bytes.size();
  std::uint64_t sum = start;
  for (; left >= 3 * stream_bytes; left -= 3 * stream_bytes, from += 3 * stream_bytes) {
    std::uint64_t second = 0;
    std::uint64_t third = 0;
    for (std::size_t at = 0; at < stream_bytes; at += word) {
      sum = step(sum, word_at(from + at));
      second = step(second, word_at(from + at + stream_bytes));
      third = step(third, word_at(from + at + 2 * stream_bytes));
    }
    sum = multiplied(by_two_streams, sum) ^ multiplied(by_one_stream, second) ^ third;
  }
  for (; left >= word; left -= word, from += word) sum = step(sum, word_at(from));
  return sum_by_table({from, left}, static_cast<std::uint32_t>(sum));
}

#endif

#if defined(__x86_64__)

#define WEIR_HAS_WIDE_PRODUCTS __attribute__((target("avx512f,avx512vl,vpclmulqdq,pclmul,sse4.2")))

bool has_wide_products() {
  static const bool has = has_instruction() && __builtin_cpu_supports("avx512f") != 0 &&
                          __builtin_cpu_supports("avx512vl") != 0 &&
                          __builtin_cpu_supports("vpclmulqdq") != 0 &&
                          __builtin_cpu_supports("pclmul") != 0;
  return has;
}

constexpr std::size_t wide_bytes = 64;  // bytes of a register
// Number of registers in use, which hides the latency of a product.
constexpr std::size_t wide_registers = 4;
constexpr std::size_t folded_at_once = wide_registers * wide_bytes;

// The factors that move the halves of 16 bytes by a number of bytes. They contain a shift because
// the product of two reflected polynomials is one bit too low, and because a checksum of 32 bits
// lies 32 bits from its former place.
struct Fold {
  long long low;
  long long high;
};
constexpr Fold fold_by(std::size_t bytes) {
  return {static_cast<long long>(std::uint64_t{power(bytes + 4)} << 1U),
          static_cast<long long>(std::uint64_t{power(bytes - 4)} << 1U)};
}

constexpr int sum_of_three = 0x96;  // the exclusive or of three operands, by its truth table

WEIR_HAS_WIDE_PRODUCTS inline __m512i folded(__m512i from, __m512i by, __m512i onto) {
  return _mm512_ternarylogic_epi64(_mm512_clmulepi64_epi128(from, by, 0x00),
                                   _mm512_clmulepi64_epi128(from, by, 0x11), onto, sum_of_three);
}

WEIR_HAS_WIDE_PRODUCTS inline __m128i folded(__m128i from, __m128i by, __m128i onto) {
  return _mm_ternarylogic_epi64(_mm_clmulepi64_si128(from, by, 0x00),
                                _mm_clmulepi64_si128(from, by, 0x11), onto, sum_of_three);
}

// Returns the checksum of at least folded_at_once bytes.
WEIR_HAS_WIDE_PRODUCTS std::uint32_t sum_by_products(std::span<const std::byte> bytes,
                                                     std::uint32_t start) {
  constexpr Fold all = fold_by(folded_at_once);
  constexpr Fold one_register = fold_by(wide_bytes);
  constexpr Fold one_lane = fold_by(wide_bytes / 4);
  const std::byte* from = bytes.data();
  std::size_t left = bytes.size();
  __m512i folds[wide_registers];  // NOLINT(modernize-avoid-c-arrays): std::array loses alignment
  for (std::size_t i = 0; i < wide_registers; ++i) {
    folds[i] = _mm512_loadu_si512(from + i * wide_bytes);
  }
  folds[0] = _mm512_xor_si512(folds[0],
                              _mm512_zextsi128_si512(_mm_cvtsi32_si128(static_cast<int>(start))));
  from += folded_at_once;
  left -= folded_at_once;
  const __m512i by_all = _mm512_set4_epi64(all.high, all.low, all.high, all.low);
  for (; left >= folded_at_once; left -= folded_at_once, from += folded_at_once) {
    for (std::size_t i = 0; i < wide_registers; ++i) {
      folds[i] = folded(folds[i], by_all, _mm512_loadu_si512(from + i * wide_bytes));
    }
  }
  const __m512i by_register =
      _mm512_set4_epi64(one_register.high, one_register.low, one_register.high, one_register.low);
  __m512i last = folds[0];
  for (std::size_t i = 1; i < wide_registers; ++i) last = folded(last, by_register, folds[i]);
  const __m128i by_lane = _mm_set_epi64x(one_lane.high, one_lane.low);
  std::array<long long, wide_bytes / sizeof(long long)> words{};
  _mm512_storeu_si512(words.data(), last);
  __m128i lane = _mm_set_epi64x(words[1], words[0]);
  for (std::size_t i = 2; i < words.size(); i += 2) {
    lane = folded(lane, by_lane, _mm_set_epi64x(words[i + 1], words[i]));
  }
  // These 16 bytes have the same checksum as all bytes that were folded into them.
  std::uint64_t sum = _mm_crc32_u64(0, static_cast<std::uint64_t>(_mm_cvtsi128_si64(lane)));
  sum = _mm_crc32_u64(sum, static_cast<std::uint64_t>(_mm_extract_epi64(lane, 1)));
  return sum_by_instruction({from, left}, static_cast<std::uint32_t>(sum));
}

#endif

}  // namespace

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before) {
#if defined(__x86_64__)
  if (bytes.size() >= folded_at_once && has_wide_products()) {
    return ~sum_by_products(bytes, ~before);
  }
#endif
#if defined(__x86_64__) || defined(__aarch64__)
  if (has_instruction()) return ~sum_by_instruction(bytes, ~before);
#endif
  return crc32c_by_table(bytes, before);
}

std::uint32_t crc32c_by_table(std::span<const std::byte> bytes, std::uint32_t before) {
  return ~sum_by_table(bytes, ~before);
}

std::uint32_t crc32c_combined(std::uint32_t sum_a, std::uint32_t sum_b, std::int64_t bytes_b) {
  return product(power(static_cast<std::uint64_t>(bytes_b)), sum_a) ^ sum_b;
}

}  // namespace weir::storage
