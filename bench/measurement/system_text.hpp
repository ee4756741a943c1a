// Reading the small texts in which Linux describes itself. Missing ones are told apart from empty
// ones, because a description says "unknown" for the former.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace weir::bench {

// The whole file; nothing when it cannot be read.
[[nodiscard]] std::optional<std::string> read_text(const std::string& path);
// The first line without surrounding blanks; nothing when it cannot be read or is empty.
[[nodiscard]] std::optional<std::string> read_line(const std::string& path);
[[nodiscard]] std::optional<std::int64_t> read_integer(const std::string& path);

[[nodiscard]] std::string_view trimmed(std::string_view text);
[[nodiscard]] std::optional<std::int64_t> parse_integer(std::string_view text);
// What follows `separator` on the first line of `text` that has exactly `key` before it, without
// surrounding blanks: "24684096 kB" of "MemTotal:  24684096 kB". Nothing when there is none.
[[nodiscard]] std::optional<std::string> value_of(std::string_view text, std::string_view key,
                                                  char separator);
// The choice in brackets: "none [mq-deadline] bfq" → "mq-deadline"; a text without brackets as it
// is.
[[nodiscard]] std::string chosen(std::string_view text);

// The value, or "unknown".
template <typename T>
[[nodiscard]] nlohmann::json or_unknown(const std::optional<T>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json("unknown");
}

}  // namespace weir::bench
