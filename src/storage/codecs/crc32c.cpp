// A sum is a polynomial over the two-element field modulo the Castagnoli polynomial, its
// coefficient of x^31 in the lowest bit. Appending n bytes multiplies it by x^(8 n), so sums of
// parts can be made beside each other and put together: an instruction that takes three cycles is
// then begun in each.
#include "storage/codecs/crc32c.hpp"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#elif defined(__aarch64__)
#include <arm_acle.h>
#include <sys/auxv.h>
#endif

namespace weir::storage {
namespace {

constexpr std::uint32_t polynomial = 0x82F63B78U;
constexpr std::uint32_t one = std::uint32_t{1} << 31;  // x^0

// The products of a multiplication by a constant: one look-up per byte of the other factor.
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

// x^(8 bytes).
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

// Three streams of this many bytes at a time: small enough to stay in the first cache.
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

}  // namespace

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before) {
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
