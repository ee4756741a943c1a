#include "system/moved_all.hpp"

#include <fmt/format.h>

namespace weir::storage {

Status moved_all(std::int64_t asked, std::int64_t moved, const std::string& file,
                 std::int64_t offset) {
  if (moved == asked) return {};
  return Error(ErrorCode::short_transfer,
               fmt::format("bytes went astray inside the library: {} asked for, {} moved, and no "
                           "error told; please report this line",
                           asked, moved),
               file, offset);
}

}  // namespace weir::storage
