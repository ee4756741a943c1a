// A record in a file on the node's own disk: a head, and bytes whose checksum is in it.
//
// clang-format off
//     head    magic (8), version (4), crc32c of the bytes (4), stamp (8), number of bytes (8),
//             crc32c of the 32 bytes before (4), 0 (4)
// clang-format on
//
// Numbers are little-endian. A record of given bytes and stamp has one possible head, so comparing
// all of it finds whatever is damaged, and bytes that were written under another stamp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "common/status.hpp"

namespace weir::stager {

inline constexpr std::size_t record_head_bytes = 40;
using RecordHead = std::array<std::byte, record_head_bytes>;

// Returns the head of a record; `magic` has 8 characters.
[[nodiscard]] RecordHead record_head(std::string_view magic, std::uint64_t stamp,
                                     std::span<const std::byte> bytes);
// Returns whether this is the head of a record of these bytes.
[[nodiscard]] bool is_head_of(std::span<const std::byte> head, std::string_view magic,
                              std::uint64_t stamp, std::span<const std::byte> bytes);
// Returns how many bytes follow a head; nothing if the head is damaged or of another file.
[[nodiscard]] std::optional<std::uint64_t> bytes_behind(std::span<const std::byte> head,
                                                        std::string_view magic,
                                                        std::uint64_t stamp);

// Returns `quota`, or half of what is free in the folder if it is 0.
[[nodiscard]] Result<std::int64_t> quota_in(const std::string& folder, std::int64_t quota);

}  // namespace weir::stager
