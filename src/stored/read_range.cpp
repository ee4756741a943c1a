#include "stored/read_range.hpp"

#include <fmt/format.h>

#include <cerrno>

namespace weir::storage {

Result<std::shared_ptr<const File>> open_to_read(const ExtentMap& map, DataFileCache& files,
                                                 std::int64_t file) {
  auto opened = files.get(map.files.path(file), 0, map.files.known());
  const bool may_be_missing = map.files.bytes_when_made() > 0;
  if (!opened && may_be_missing && opened.error().system_error == ENOENT) {
    return std::shared_ptr<const File>();
  }
  return opened;
}

Status read_whole(const DataFileCache& files, const File& file, std::span<const Slice> slices,
                  std::int64_t offset) {
  const std::int64_t wanted = bytes_of(slices);
  std::int64_t moved = 0;
  Status status = files.read(file, slices, offset, moved);
  if (!status.ok() || moved == wanted) return status;
  Error error;
  error.code = ErrorCode::short_transfer;
  error.operation = "read";
  error.file = file.path();
  error.offset = offset + moved;
  error.message = fmt::format("the file ends after {} of the {} bytes that its header describes",
                              moved, wanted);
  return error;
}

Result<bool> read_range(const ExtentMap& map, DataFileCache& files, std::int64_t file,
                        std::int64_t offset, const Slice& slice) {
  const auto opened = open_to_read(map, files, file);
  if (!opened) return opened.error();
  if (opened.value() == nullptr) return false;
  Status status = read_whole(files, *opened.value(), {&slice, 1}, offset);
  return status.ok() ? Result<bool>(true) : status.error();
}

}  // namespace weir::storage
