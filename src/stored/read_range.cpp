#include "stored/read_range.hpp"

#include <fmt/format.h>

#include <cerrno>

namespace weir::storage {

Result<bool> read_range(const ExtentMap& map, DataFileCache& files, std::int64_t file,
                        std::int64_t offset, const Slice& slice) {
  const auto opened = files.get(map.files.path(file), 0, map.files.known());
  if (!opened) {
    const bool may_be_missing = map.files.bytes_when_made() > 0;
    if (may_be_missing && opened.error().system_error == ENOENT) return false;
    return opened.error();
  }
  std::int64_t moved = 0;
  Status status = files.read(*opened.value(), {&slice, 1}, offset, moved);
  if (!status.ok()) return status.error();
  if (moved == slice.bytes) return true;
  Error error;
  error.code = ErrorCode::short_transfer;
  error.operation = "read";
  error.file = opened.value()->path();
  error.offset = offset + moved;
  error.message = fmt::format("the file ends after {} of the {} bytes that its header describes",
                              moved, slice.bytes);
  return error;
}

}  // namespace weir::storage
