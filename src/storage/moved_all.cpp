#include "storage/moved_all.hpp"

#include <fmt/format.h>

namespace weir::storage {

Status moved_all(std::int64_t asked, std::int64_t moved, const std::string& file,
                 std::int64_t offset) {
  if (moved == asked) return {};
  Error error;
  error.code = ErrorCode::short_transfer;
  error.message = fmt::format(
      "bytes went astray inside the library: {} asked for, {} moved, and no error told; please "
      "report this line",
      asked, moved);
  error.file = file;
  error.offset = offset;
  return error;
}

}  // namespace weir::storage
