// A TransferWatch is notified of every range that is moved between memory and an array's files. It
// serves checksums.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/status.hpp"
#include "system/slices.hpp"

namespace weir::storage {

// A contiguous range of file number `file`.
struct StoredRange {
  std::int64_t file = 0;
  std::int64_t offset = 0;  // bytes from the start of the file
  std::span<const Slice> slices;
  // In a read, slices that begin at this address receive bytes that no rank requested. These slices
  // overlap, so the memory finally contains the bytes of the last one.
  const std::byte* discarded = nullptr;
};

class TransferWatch {
 public:
  TransferWatch() = default;
  TransferWatch(const TransferWatch&) = delete;
  TransferWatch& operator=(const TransferWatch&) = delete;
  virtual ~TransferWatch() = default;

  // Returns whether the watch examines transfers.
  [[nodiscard]] virtual bool is_watching() const = 0;
  // Called before a range is written.
  virtual void writes(const StoredRange& range) = 0;
  // Called after a range was read. A failure of this function is a failure of the transfer.
  virtual Status has_read(const StoredRange& range) = 0;
};

}  // namespace weir::storage
