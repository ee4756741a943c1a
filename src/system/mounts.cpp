#include "system/mounts.hpp"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "system/text_file.hpp"

namespace weir::storage {
namespace {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

bool holds(std::string_view point, std::string_view path) {
  if (point == "/") return path.starts_with('/');
  return path.starts_with(point) && (path.size() == point.size() || path[point.size()] == '/');
}

std::string joined_options(std::string_view of_mount, std::string_view of_file_system) {
  std::vector<std::string_view> options = split(of_mount, ',');
  for (const std::string_view option : split(of_file_system, ',')) {
    if (std::find(options.begin(), options.end(), option) == options.end())
      options.push_back(option);
  }
  std::string text;
  for (const std::string_view option : options) {
    if (!text.empty()) text += ',';
    text += option;
  }
  return text;
}

// Parses a line such as "27 1 254:0 / /mnt rw,relatime shared:1 - ext4 /dev/vda rw,discard". The
// number of fields before the lone dash varies.
std::optional<Mount> parse_line(std::string_view line) {
  const std::vector<std::string_view> fields = split(line, ' ');
  const auto dash = std::find(fields.begin(), fields.end(), std::string_view("-"));
  if (dash - fields.begin() < 6 || fields.end() - dash < 4) return std::nullopt;
  return Mount{.device = std::string(fields[2]),
               .point = plain_path(fields[4]),
               .options = joined_options(fields[5], dash[3]),
               .type = std::string(dash[1]),
               .source = plain_path(dash[2])};
}

}  // namespace

std::string plain_path(std::string_view text) {
  const auto is_octal = [](char c) { return c >= '0' && c <= '7'; };
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size() && is_octal(text[i + 1]) && is_octal(text[i + 2]) &&
        is_octal(text[i + 3])) {
      plain += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 +
                                 (text[i + 3] - '0'));
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

std::optional<Mount> find_mount(std::string_view mountinfo, std::string_view path) {
  std::optional<Mount> found;
  for (const std::string_view line : split(mountinfo, '\n')) {
    std::optional<Mount> mount = parse_line(line);
    if (mount && holds(mount->point, path) &&
        (!found || mount->point.size() >= found->point.size()))
      found = std::move(mount);
  }
  return found;
}

std::optional<Mount> mount_of(const std::string& path, const std::string& mounts) {
  std::error_code error;
  const std::string real = std::filesystem::canonical(path, error).string();
  if (error) return std::nullopt;
  constexpr std::size_t most_bytes = std::size_t{64} << 20;
  const auto table = read_text_file(mounts, most_bytes);
  return table ? find_mount(table.value(), real) : std::nullopt;
}

}  // namespace weir::storage
