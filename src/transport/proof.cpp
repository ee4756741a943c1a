#include "transport/proof.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <string_view>
#include <utility>
#include <vector>

#include "system/descriptor_socket.hpp"

namespace weir::transport {
namespace {

constexpr std::size_t block_bytes = 64;

// The fractional parts of the cube roots of the first 64 primes (FIPS 180-4, section 4.2.2).
constexpr std::array<std::uint32_t, 64> round_constants = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

using Words = std::array<std::uint32_t, 8>;

std::uint32_t big_endian_at(std::span<const std::byte> bytes, std::size_t at) {
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    number = number << 8U | std::to_integer<std::uint32_t>(bytes[at + i]);
  }
  return number;
}

void compress(Words& state, std::span<const std::byte> block) {
  std::array<std::uint32_t, 64> w{};
  for (std::size_t i = 0; i < 16; ++i) w.at(i) = big_endian_at(block, 4 * i);
  for (std::size_t i = 16; i < 64; ++i) {
    const std::uint32_t early = w.at(i - 15);
    const std::uint32_t late = w.at(i - 2);
    w.at(i) = w.at(i - 16) + w.at(i - 7) +
              (std::rotr(early, 7) ^ std::rotr(early, 18) ^ early >> 3U) +
              (std::rotr(late, 17) ^ std::rotr(late, 19) ^ late >> 10U);
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (std::size_t i = 0; i < 64; ++i) {
    const std::uint32_t first = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
                                ((e & f) ^ (~e & g)) + round_constants.at(i) + w.at(i);
    const std::uint32_t second =
        (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + first;
    d = c;
    c = b;
    b = a;
    a = first + second;
  }
  const Words added = {a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < added.size(); ++i) state.at(i) += added.at(i);
}

// FIPS 180-4. The texts are short, so they are padded in a copy.
Proof sha256(std::vector<std::byte> text) {
  const std::uint64_t bits = std::uint64_t{text.size()} * 8;
  text.push_back(std::byte{0x80});
  while (text.size() % block_bytes != block_bytes - 8) text.push_back(std::byte{0});
  for (unsigned shift = 64; shift > 0; shift -= 8) {
    text.push_back(static_cast<std::byte>(bits >> (shift - 8)));
  }
  Words state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  const std::span<const std::byte> all(text);
  for (std::size_t at = 0; at < all.size(); at += block_bytes) {
    compress(state, all.subspan(at, block_bytes));
  }
  Proof digest{};
  for (std::size_t i = 0; i < digest.size(); ++i) {
    digest.at(i) = static_cast<std::byte>(state.at(i / 4) >> (24 - i % 4 * 8));
  }
  return digest;
}

}  // namespace

Proof hmac_sha256(std::span<const std::byte> key, std::span<const std::byte> text) {
  std::array<std::byte, block_bytes> padded{};
  if (key.size() > block_bytes) {
    const Proof digest = sha256({key.begin(), key.end()});
    std::ranges::copy(digest, padded.begin());
  } else {
    std::ranges::copy(key, padded.begin());
  }
  std::vector<std::byte> inner;
  std::vector<std::byte> outer;
  for (const std::byte one : padded) {
    inner.push_back(one ^ std::byte{0x36});
    outer.push_back(one ^ std::byte{0x5c});
  }
  inner.insert(inner.end(), text.begin(), text.end());
  const Proof digest = sha256(std::move(inner));
  outer.insert(outer.end(), digest.begin(), digest.end());
  return sha256(std::move(outer));
}

Proof proof_of(Side side, const std::string& key, const Nonce& of_rank, const Nonce& of_stager) {
  const std::string_view label = side == Side::rank ? "weir rank " : "weir stager ";
  const auto named = std::as_bytes(std::span(label));
  std::vector<std::byte> text(named.begin(), named.end());
  text.insert(text.end(), of_rank.begin(), of_rank.end());
  text.insert(text.end(), of_stager.begin(), of_stager.end());
  return hmac_sha256(std::as_bytes(std::span(key)), text);
}

bool is_same(std::span<const std::byte> one, std::span<const std::byte> other) {
  if (one.size() != other.size()) return false;
  std::byte different{0};
  for (std::size_t i = 0; i < one.size(); ++i) different |= one[i] ^ other[i];
  return different == std::byte{0};
}

Result<Nonce> new_nonce() { return storage::new_secret(); }

}  // namespace weir::transport
