// Reads whole numbers in the texts by which users describe a machine.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace weir::topology {

// Returns nothing unless `text` consists of digits and their value is from `least` to `most`.
[[nodiscard]] inline std::optional<std::int64_t> whole_number(std::string_view text,
                                                              std::int64_t least,
                                                              std::int64_t most) {
  std::int64_t number = 0;
  const bool has_sign = !text.empty() && text.front() == '-';
  const auto [last, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (has_sign || error != std::errc() || last != text.data() + text.size()) return std::nullopt;
  return number < least || number > most ? std::nullopt : std::optional(number);
}

}  // namespace weir::topology
