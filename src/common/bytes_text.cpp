#include "common/bytes_text.hpp"

#include <fmt/format.h>

#include <array>
#include <string_view>
#include <utility>

namespace weir {
namespace {

constexpr std::array<std::pair<int, std::string_view>, 4> units = {
    {{40, "TiB"}, {30, "GiB"}, {20, "MiB"}, {10, "KiB"}}};

}  // namespace

std::string bytes_text(std::int64_t bytes) {
  for (const auto& [shift, unit] : units) {
    const std::int64_t one = std::int64_t{1} << shift;
    if (bytes < one) continue;
    return fmt::format("{:.4g} {}", static_cast<double>(bytes) / static_cast<double>(one), unit);
  }
  return fmt::format("{} B", bytes);
}

}  // namespace weir
