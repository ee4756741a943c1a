#include "formats/text_bytes.hpp"

#include <array>
#include <cstdint>
#include <cstring>

#include "common/numbers_in_bytes.hpp"

namespace weir::storage {
namespace {

constexpr std::string_view digits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint32_t last_character = 0x10FFFF;

bool is_scalar_value(std::uint32_t character) {
  const bool is_surrogate = character >= 0xD800 && character <= 0xDFFF;
  return character <= last_character && !is_surrogate;
}

// Bytes of a UTF-8 sequence, and the smallest character that needs as many.
struct Sequence {
  int bytes = 0;
  std::uint32_t least = 0;
  std::uint32_t first_bits = 0;  // bits of the first byte that belong to the character
};

Sequence sequence_from(unsigned char first) {
  if (first < 0x80) return {1, 0, 0x7F};
  if (first >= 0xC0 && first < 0xE0) return {2, 0x80, 0x1F};
  if (first >= 0xE0 && first < 0xF0) return {3, 0x800, 0x0F};
  if (first >= 0xF0 && first < 0xF8) return {4, 0x10000, 0x07};
  return {};
}

void append(std::vector<std::byte>& bytes, std::uint32_t character) {
  std::array<std::byte, sizeof(character)> four{};
  std::memcpy(four.data(), &character, four.size());
  bytes.insert(bytes.end(), four.begin(), four.end());
}

}  // namespace

std::string base64(std::span<const std::byte> bytes) {
  std::string text;
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::size_t there = std::min<std::size_t>(3, bytes.size() - at);
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      bits = bits << 8 | (i < there ? std::to_integer<std::uint32_t>(bytes[at + i]) : 0U);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      text += i <= there ? digits[bits >> (18 - 6 * i) & 63U] : '=';
    }
  }
  return text;
}

std::optional<std::vector<std::byte>> parse_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::vector<std::byte> bytes;
  for (std::size_t at = 0; at < text.size(); at += 4) {
    const bool is_last = at + 4 == text.size();
    std::size_t there = 4;
    while (is_last && there > 2 && text[at + there - 1] == '=') --there;
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      const std::size_t digit = i < there ? digits.find(text[at + i]) : 0;
      if (digit == std::string_view::npos) return std::nullopt;
      bits = bits << 6 | static_cast<std::uint32_t>(digit);
    }
    for (std::size_t i = 0; i + 1 < there; ++i) {
      bytes.push_back(static_cast<std::byte>(bits >> (16 - 8 * i) & 0xFFU));
    }
  }
  return bytes;
}

std::optional<std::string> utf8_of_utf32(std::span<const std::byte> characters) {
  std::string text;
  for (std::size_t at = 0; at + 4 <= characters.size(); at += 4) {
    const auto character = number_at<std::uint32_t>(characters, at);
    if (character == 0) break;
    if (!is_scalar_value(character)) return std::nullopt;
    if (character < 0x80) {
      text += static_cast<char>(character);
      continue;
    }
    const int more = character < 0x800 ? 1 : character < 0x10000 ? 2 : 3;
    const std::uint32_t mark = more == 1 ? 0xC0 : more == 2 ? 0xE0 : 0xF0;
    text += static_cast<char>(mark | character >> (6 * more));
    for (int i = more - 1; i >= 0; --i) {
      text += static_cast<char>(0x80U | (character >> (6 * i) & 0x3FU));
    }
  }
  return text;
}

std::optional<std::vector<std::byte>> utf32_of_utf8(std::string_view text) {
  std::vector<std::byte> characters;
  for (std::size_t at = 0; at < text.size();) {
    const auto first = static_cast<unsigned char>(text[at]);
    const Sequence sequence = sequence_from(first);
    if (sequence.bytes == 0 || text.size() - at < static_cast<std::size_t>(sequence.bytes)) {
      return std::nullopt;
    }
    std::uint32_t character = first & sequence.first_bits;
    for (int i = 1; i < sequence.bytes; ++i) {
      const auto next = static_cast<unsigned char>(text[at + static_cast<std::size_t>(i)]);
      if ((next & 0xC0U) != 0x80) return std::nullopt;
      character = character << 6 | (next & 0x3FU);
    }
    if (character < sequence.least || !is_scalar_value(character)) return std::nullopt;
    append(characters, character);
    at += static_cast<std::size_t>(sequence.bytes);
  }
  return characters;
}

}  // namespace weir::storage
