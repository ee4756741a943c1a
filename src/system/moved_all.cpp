#include "system/moved_all.hpp"

#include <fmt/format.h>

namespace weir::storage {

Status moved_all(std::int64_t asked, std::int64_t moved, const std::string& file,
                 std::int64_t offset) {
  if (moved == asked) return {};
  return Error(ErrorCode::short_transfer,
               fmt::format("internal error, the library lost bytes: {} requested, {} moved, and no "
                           "error reported; please report this line",
                           asked, moved),
               file, offset);
}

}  // namespace weir::storage
