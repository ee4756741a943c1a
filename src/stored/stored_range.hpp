// A range of a file of an array, and the memory whose bytes it holds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

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

}  // namespace weir::storage
