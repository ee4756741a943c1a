// A TransferWatch is told of every range that is moved between memory and an array's files, for
// checksums.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/status.hpp"
#include "storage/engines/slices.hpp"

namespace weir::storage {

// A contiguous range of file number `file`.
struct StoredRange {
  std::int64_t file = 0;
  std::int64_t offset = 0;  // bytes from the start of the file
  std::span<const Slice> slices;
  // Reading: slices that begin here take what nobody asked for. They lie over each other, so what
  // is there afterwards is the last one's.
  const std::byte* discarded = nullptr;
};

class TransferWatch {
 public:
  TransferWatch() = default;
  TransferWatch(const TransferWatch&) = delete;
  TransferWatch& operator=(const TransferWatch&) = delete;
  virtual ~TransferWatch() = default;

  // Whether it looks at what is moved.
  [[nodiscard]] virtual bool is_watching() const = 0;
  // Before a range is written.
  virtual void writes(const StoredRange& range) = 0;
  // After it was read. A failure is that of the transfer.
  virtual Status has_read(const StoredRange& range) = 0;
};

}  // namespace weir::storage
