#include "system/mounts.hpp"

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

namespace weir::storage {
namespace {

// The mount table contains spaces, tabs, line ends and backslashes as octal escapes such as "\040".
std::string unescaped(const std::string& text) {
  constexpr std::size_t escape = 4;
  std::string plain;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool escaped = text[at] == '\\' && at + escape <= text.size() &&
                         text.find_first_not_of("01234567", at + 1) >= at + escape;
    if (escaped) {
      plain += static_cast<char>(std::stoi(text.substr(at + 1, escape - 1), nullptr, 8));
      at += escape - 1;
    } else {
      plain += text[at];
    }
  }
  return plain;
}

}  // namespace

std::optional<Mount> mount_of(const std::string& path, const std::string& mounts) {
  std::error_code failed;
  const std::string real = std::filesystem::canonical(path, failed).string();
  if (failed) return std::nullopt;
  std::ifstream table(mounts);
  Mount one;
  std::string rest;
  std::optional<Mount> found;
  while (table >> one.source >> one.point >> one.type && std::getline(table, rest)) {
    one.point = unescaped(one.point);
    const bool holds = one.point == "/" || real == one.point || real.starts_with(one.point + "/");
    // The last of several mounts on one mount point is visible.
    if (holds && (!found || one.point.size() >= found->point.size())) found = one;
  }
  return found;
}

}  // namespace weir::storage
