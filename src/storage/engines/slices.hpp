// Moving a contiguous range of a file from or to slices of memory, blocking: one system call where
// the memory is in several places, many slices per call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/status.hpp"
#include "storage/engines/file.hpp"

namespace weir::storage {

struct Slice {
  std::byte* data = nullptr;  // not changed by writing
  std::int64_t bytes = 0;     // > 0
};

[[nodiscard]] std::int64_t bytes_of(std::span<const Slice> slices);

// Writes the slices one after the other from `offset` of the file on. Goes on after partial writes;
// the error that stops it tells file and offset. `calls` counts the system calls made.
Status write_slices(const File& file, std::span<const Slice> slices, std::int64_t offset,
                    std::int64_t& calls);
// Sets `bytes` to what the system says that it took.
Status write_slices(const File& file, std::span<const Slice> slices, std::int64_t offset,
                    std::int64_t& bytes, std::int64_t& calls);

// Fills the slices with what the file holds from `offset` on. Sets `bytes` to what was read: less
// than asked for only where the file ends.
Status read_slices(const File& file, std::span<const Slice> slices, std::int64_t offset,
                   std::int64_t& bytes, std::int64_t& calls);

// What moves slices to and from files: this one is the system. For tests, others lose bytes. Safe
// for threads.
class SliceMover {
 public:
  SliceMover() = default;
  SliceMover(const SliceMover&) = delete;
  SliceMover& operator=(const SliceMover&) = delete;
  virtual ~SliceMover() = default;

  // As write_slices() and read_slices(); each sets `bytes` to what was moved.
  virtual Status write(const File& file, std::span<const Slice> slices, std::int64_t offset,
                       std::int64_t& bytes) const;
  virtual Status read(const File& file, std::span<const Slice> slices, std::int64_t offset,
                      std::int64_t& bytes) const;
};

}  // namespace weir::storage
