// Writes of many short rows with holes between them, of which no byte is changed or read.
//
// A system call for each row takes longer than its bytes, and a write that reads, changes and
// writes back the holes would undo what others write there. Rows that begin at least once a page
// are therefore copied into the page cache through a shared mapping of up to 4 MiB of the file:
//
// clang-format off
//   pwrite             the last row: the file gets its length and times, and limits and full
//                      storage give their error
//   mmap               the others; madvise(MADV_POPULATE_WRITE) fetches their pages together
//   process_vm_readv   copies up to 1024 rows from this process's memory to the mapping
//   munmap
// clang-format on
//
// The process never stores to the mapping itself. Where a store would end it with SIGBUS, because
// the space is used up or another process has cut the file off, process_vm_readv fails, and the
// rows are written by pwrite, whose error is the call's. So are rows that are long, far apart or
// few, and all rows of other files:
//
//   - on file systems other than ext2, ext3, ext4, XFS and tmpfs. Those of other nodes would write
//     back whole pages, and undo what another node has written to the same page;
//   - that are open for writing only, or with O_DIRECT;
//   - where the kernel does not provide process_vm_readv, or forbids it.
//
// Writers past the page cache (O_DIRECT) must not write the same pages, nor pages beside them, at
// the same time: the system does not exclude them from mapped pages as it does from pwrite.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/status.hpp"
#include "system/file.hpp"
#include "system/slices.hpp"

namespace weir::storage {

struct PlacedSlice {
  std::int64_t offset = 0;  // in the file
  Slice slice;
};

// Returns how many rows at the beginning follow each other in the file without a hole. A row of its
// own has one.
[[nodiscard]] std::size_t rows_without_hole(std::span<const PlacedSlice> rows);

// Calls write(offset, slices) for all rows between two holes, one after the other, until it fails.
template <typename Write>
Status for_each_between_holes(std::span<const PlacedSlice> rows, const Write& write) {
  std::vector<Slice> slices;
  while (!rows.empty()) {
    const auto now = rows.first(rows_without_hole(rows));
    slices.clear();
    for (const PlacedSlice& row : now) slices.push_back(row.slice);
    Status written = write(now.front().offset, std::span<const Slice>(slices));
    if (!written.ok()) return written;
    rows = rows.subspan(now.size());
  }
  return {};
}

// Writes the rows, which ascend in the file and do not overlap. Sets `bytes` to the bytes of rows
// that were written, and increases `calls` by the number of system calls that moved them. If a row
// fails, others behind it may have been written.
Status write_scattered(const File& file, std::span<const PlacedSlice> rows, std::int64_t& bytes,
                       std::int64_t& calls);

}  // namespace weir::storage
