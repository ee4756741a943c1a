// Control of the page cache in a measurement: functions that drop a file's pages and that find out
// which pages are resident.
#pragma once

#include <cstdint>

#include "common/status.hpp"
#include "system/file.hpp"

namespace weir::storage {

// Drops the cached pages of [offset, offset+bytes) from this node's page cache (posix_fadvise
// DONTNEED). The system drops only clean pages, so call this function after a durable write.
Status drop_cached_pages(const File& file, std::int64_t offset, std::int64_t bytes);

// Returns the fraction, 0 to 1, of the pages of [offset, offset+bytes) that are resident (mincore),
// measured on at most `sample_pages` evenly spaced pages. The file must be open for reading and
// owned by the user.
Result<double> resident_fraction(const File& file, std::int64_t offset, std::int64_t bytes,
                                 std::int64_t sample_pages);

// Bytes that the block device under a file has read and written since boot
// (/sys/dev/block/MAJOR:MINOR/stat). device_counters() fails with `unsupported` for file systems
// without a block device.
struct DeviceCounters {
  std::int64_t bytes_read = 0;
  std::int64_t bytes_written = 0;
};
Result<DeviceCounters> device_counters(const File& file);

}  // namespace weir::storage
