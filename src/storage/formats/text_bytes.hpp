// Bytes and characters as JSON documents have them: base64 (RFC 4648) and UTF-8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir::storage {

// The longest element of text whose fill value is not empty: files must not ask for gigabytes by a
// few characters.
inline constexpr std::int64_t most_text_fill_bytes = 4096;

[[nodiscard]] std::string base64(std::span<const std::byte> bytes);
// Nothing for what base64() does not give.
[[nodiscard]] std::optional<std::vector<std::byte>> parse_base64(std::string_view text);

// Characters of 4 bytes, in the machine's byte order, up to the first that is zero. Nothing where
// one is no Unicode scalar value.
[[nodiscard]] std::optional<std::string> utf8_of_utf32(std::span<const std::byte> characters);
// Nothing where the text is no UTF-8.
[[nodiscard]] std::optional<std::vector<std::byte>> utf32_of_utf8(std::string_view text);

}  // namespace weir::storage
