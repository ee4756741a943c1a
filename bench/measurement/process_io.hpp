// What this process has handed to and got from the system by read and write calls, as the kernel
// counts it: also what libraries move in its name.
#pragma once

#include <cstdint>
#include <optional>

namespace weir::bench {

struct ProcessIo {
  std::int64_t bytes_read = 0;     // by read, pread, …; sockets and pipes among them
  std::int64_t bytes_written = 0;  // by write, pwrite, …
};

// Since the process began; nothing where /proc/self/io cannot be read.
[[nodiscard]] std::optional<ProcessIo> process_io();

}  // namespace weir::bench
