#include "common/bytes_text.hpp"

#include <fmt/format.h>

namespace weir {

std::string bytes_text(std::int64_t bytes) {
  if (bytes >= 1 << 30) return fmt::format("{:.4g} GiB", static_cast<double>(bytes) / (1 << 30));
  if (bytes >= 1 << 20) return fmt::format("{:.4g} MiB", static_cast<double>(bytes) / (1 << 20));
  if (bytes >= 1 << 10) return fmt::format("{:.4g} KiB", static_cast<double>(bytes) / (1 << 10));
  return fmt::format("{} B", bytes);
}

}  // namespace weir
