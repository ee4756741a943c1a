// Counts the bytes that this process has moved by read and write calls, as the kernel counts them.
// The counts include the calls of libraries.
#pragma once

#include <cstdint>
#include <optional>

namespace weir::bench {

struct ProcessIo {
  std::int64_t bytes_read = 0;     // by read, pread, …, including those on sockets and pipes
  std::int64_t bytes_written = 0;  // by write, pwrite, …
};

// Returns the counts since the process began, or nothing if /proc/self/io cannot be read.
[[nodiscard]] std::optional<ProcessIo> process_io();

}  // namespace weir::bench
