// Counts what became of the calls of H5Dwrite, H5Dread and their variants for several datasets, per
// file. The library of HDF5 lets one thread at a time into a connector.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "adapters/mpiio/reason.hpp"

namespace weir::hdf5 {

enum class Function : std::uint8_t { write, write_multi, read, read_multi };
inline constexpr std::array<std::string_view, 4> function_names{"write", "write_multi", "read",
                                                                "read_multi"};

struct CallCounts {
  std::int64_t calls = 0;
  std::int64_t failed = 0;
  std::int64_t bytes = 0;  // that successful calls asked to move
  std::int64_t ns = 0;
  std::int64_t taken = 0;
};

struct FileCounts {
  std::string path;  // absolute, or as the program gave it if there is no current folder
  std::array<CallCounts, function_names.size()> of{};
  std::array<std::int64_t, mpiio::reasons> passed{};
};

// Returns the counts of the file at this path, which stay when it is closed.
[[nodiscard]] FileCounts& counts_of(std::string_view path);
// Returns those of calls on files that were not opened by the driver mpio.
[[nodiscard]] FileCounts& counts_of_others();

// Returns whether WEIR_HDF5_FOLDER asks for a record.
[[nodiscard]] bool is_recording();
// Writes the record of this process if WEIR_HDF5_FOLDER asks for one, and only once.
void end_record();

}  // namespace weir::hdf5
