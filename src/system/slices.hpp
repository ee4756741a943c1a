// Blocking transfers between a contiguous range of a file and slices of memory. One system call
// moves many slices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/status.hpp"
#include "system/file.hpp"

namespace weir::storage {

struct Slice {
  std::byte* data = nullptr;  // not changed by writing
  std::int64_t bytes = 0;     // > 0
};

[[nodiscard]] std::int64_t bytes_of(std::span<const Slice> slices);

// Writes the slices one after the other to the file, beginning at `offset`. Continues after partial
// writes; an error names the file and the offset. `calls` is increased by the number of system
// calls.
Status write_slices(const File& file, std::span<const Slice> slices, std::int64_t offset,
                    std::int64_t& calls);
// This overload also sets `bytes` to the number of bytes that the system reports as written.
Status write_slices(const File& file, std::span<const Slice> slices, std::int64_t offset,
                    std::int64_t& bytes, std::int64_t& calls);

// Fills the slices with the contents of the file from `offset` on. Sets `bytes` to the number of
// bytes read, which is less than requested only if the file ends.
Status read_slices(const File& file, std::span<const Slice> slices, std::int64_t offset,
                   std::int64_t& bytes, std::int64_t& calls);

// Moves bytes by one system call. Returns how many were moved, which may be less than requested, or
// the errno of the system as a negative number.
[[nodiscard]] std::int64_t write_once(const File& file, const std::byte* data, std::int64_t bytes,
                                      std::int64_t offset);
[[nodiscard]] std::int64_t read_once(const File& file, std::byte* data, std::int64_t bytes,
                                     std::int64_t offset);

// Moves slices to and from files. This class uses the system; derived classes in tests lose bytes.
// The class is thread-safe.
class SliceMover {
 public:
  SliceMover() = default;
  SliceMover(const SliceMover&) = delete;
  SliceMover& operator=(const SliceMover&) = delete;
  virtual ~SliceMover() = default;

  // Work like write_slices() and read_slices(); each sets `bytes` to the number of bytes moved.
  virtual Status write(const File& file, std::span<const Slice> slices, std::int64_t offset,
                       std::int64_t& bytes) const;
  virtual Status read(const File& file, std::span<const Slice> slices, std::int64_t offset,
                      std::int64_t& bytes) const;
};

}  // namespace weir::storage
