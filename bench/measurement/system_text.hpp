// Reads the small texts in which Linux describes itself. The functions distinguish missing texts
// from empty ones, because a description says "unknown" for the former.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace weir::bench {

// Returns the whole file, or nothing if it cannot be read or is longer than 64 MiB. Reading fails,
// too, if the file describes a process that ends meanwhile.
[[nodiscard]] std::optional<std::string> read_text(const std::string& path);
// Returns the first line without surrounding blanks, or nothing if it cannot be read or is empty.
[[nodiscard]] std::optional<std::string> read_line(const std::string& path);
[[nodiscard]] std::optional<std::int64_t> read_integer(const std::string& path);

[[nodiscard]] std::string_view trimmed(std::string_view text);
[[nodiscard]] std::optional<std::int64_t> parse_integer(std::string_view text);
// Returns the text after `separator`, without surrounding blanks, on the first line of `text` that
// has exactly `key` before it: "24684096 kB" for "MemTotal:  24684096 kB". Returns nothing if there
// is no such line.
[[nodiscard]] std::optional<std::string> value_of(std::string_view text, std::string_view key,
                                                  char separator);
// Returns the choice in brackets: "none [mq-deadline] bfq" → "mq-deadline". Returns a text without
// brackets unchanged.
[[nodiscard]] std::string chosen(std::string_view text);

// Returns the value as JSON on one line. Bytes that are not UTF-8 are replaced, so that two texts
// of one value are the same.
[[nodiscard]] std::string json_text(const nlohmann::json& value);

// Returns the value, or "unknown".
template <typename T>
[[nodiscard]] nlohmann::json or_unknown(const std::optional<T>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json("unknown");
}

}  // namespace weir::bench
