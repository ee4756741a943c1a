#include "measurement/system_text.hpp"

#include <charconv>
#include <cstddef>
#include <utility>

#include "system/text_file.hpp"

namespace weir::bench {

std::optional<std::string> read_text(const std::string& path) {
  constexpr std::size_t most_bytes = std::size_t{64} << 20;
  auto text = storage::read_text_file(path, most_bytes);
  if (!text || text.value().size() > most_bytes) return std::nullopt;
  return std::move(text).value();
}

std::optional<std::string> read_line(const std::string& path) {
  const std::optional<std::string> text = read_text(path);
  if (!text) return std::nullopt;
  const std::string_view line = trimmed(std::string_view(*text).substr(0, text->find('\n')));
  if (line.empty()) return std::nullopt;
  return std::string(line);
}

std::optional<std::int64_t> read_integer(const std::string& path) {
  const std::optional<std::string> line = read_line(path);
  return line ? parse_integer(*line) : std::nullopt;
}

std::string_view trimmed(std::string_view text) {
  // MPI libraries include the terminating zero in the length of their texts.
  constexpr std::string_view blanks(" \t\r\n\0", 5);
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  text = trimmed(text);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<std::string> value_of(std::string_view text, std::string_view key, char separator) {
  while (!text.empty()) {
    const std::size_t length = text.find('\n');
    const std::string_view line = text.substr(0, length);
    text = length == std::string_view::npos ? std::string_view{} : text.substr(length + 1);
    const std::size_t at = line.find(separator);
    if (at != std::string_view::npos && trimmed(line.substr(0, at)) == key)
      return std::string(trimmed(line.substr(at + 1)));
  }
  return std::nullopt;
}

std::string chosen(std::string_view text) {
  const std::size_t open = text.find('[');
  const std::size_t close = text.find(']', open == std::string_view::npos ? 0 : open);
  if (open == std::string_view::npos || close == std::string_view::npos)
    return std::string(trimmed(text));
  return std::string(text.substr(open + 1, close - open - 1));
}

std::string json_text(const nlohmann::json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace weir::bench
