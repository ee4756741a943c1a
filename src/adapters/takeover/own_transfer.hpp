// Moves bytes of a file that a view shows, or elements of an array in chunks, from or to the memory
// of this rank, without the others: independent and nonblocking calls. Each pattern of the view,
// and what each chunk has of the elements, becomes a copy for the executor of all requests on one
// process (sections/file_copier.hpp). A write changes no byte between others.
#pragma once

#include <cstddef>
#include <cstdint>

#include "array/byte_pattern.hpp"
#include "array/layout.hpp"
#include "array/region.hpp"
#include "common/direction.hpp"
#include "common/status.hpp"
#include "stored/extent_map.hpp"
#include "system/file.hpp"

namespace weir::takeover {

// Bytes of a view, numbered from `first` on.
struct ViewRange {
  const array::ByteView* view = nullptr;
  std::int64_t first = 0;
  std::int64_t bytes = 0;
};

// Returns whether the view has all bytes of the range.
[[nodiscard]] bool is_shown(const ViewRange& range);
// Returns how many bytes of the range come before the first one behind the end of a file of
// `file_bytes`.
[[nodiscard]] std::int64_t bytes_in_file(const ViewRange& range, std::int64_t file_bytes);
// `memory` has the bytes one after the other; it is not changed.
[[nodiscard]] Status write_range(const storage::File& file, const ViewRange& range,
                                 std::byte* memory);
// Returns the number of bytes read: fewer than those of the range if the file ends before them.
[[nodiscard]] Result<std::int64_t> read_range(const storage::File& file, const ViewRange& range,
                                              std::byte* memory);

// Move bytes that follow each other in the file, too, as most calls do.
[[nodiscard]] Status write_block(const storage::File& file, std::int64_t offset, std::int64_t bytes,
                                 std::byte* memory);
[[nodiscard]] Result<std::int64_t> read_block(const storage::File& file, std::int64_t offset,
                                              std::int64_t bytes, std::byte* memory);

// Elements of an array in chunks, each of which has a place in the file.
struct ChunkedRegion {
  const storage::ExtentMap* map = nullptr;
  const array::Region* region = nullptr;
  const array::Layout* memory = nullptr;  // of the dense array of the region
};

// Does not change the memory in a write. Fails with ErrorCode::short_transfer if the file ends
// before the last element that is read.
[[nodiscard]] Status move_region(const storage::File& file, Direction direction,
                                 const ChunkedRegion& moved, std::byte* memory);

}  // namespace weir::takeover
