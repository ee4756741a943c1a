// Conversion of bytes and characters to the forms of JSON documents: base64 (RFC 4648) and UTF-8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir::storage {

// The longest text element that may have a non-empty fill value, so that a few characters in a file
// cannot request gigabytes.
inline constexpr std::int64_t most_text_fill_bytes = 4096;

[[nodiscard]] std::string base64(std::span<const std::byte> bytes);
// Returns nothing for text that base64() does not produce.
[[nodiscard]] std::optional<std::vector<std::byte>> parse_base64(std::string_view text);

// Converts characters of 4 bytes, in the machine's byte order, up to the first that is zero.
// Returns nothing if one of them is not a Unicode scalar value.
[[nodiscard]] std::optional<std::string> utf8_of_utf32(std::span<const std::byte> characters);
// Returns nothing if the text is not UTF-8.
[[nodiscard]] std::optional<std::vector<std::byte>> utf32_of_utf8(std::string_view text);

}  // namespace weir::storage
