// Estimates the time, in seconds, of calls of MPI-IO that an MPI library carries out on one node,
// so that those which Weir carries out can be compared with it. docs/measurements/library.md, What
// a call would have taken, has the measurements behind the figures and how far off they are.
//
// clang-format off
//     together       two-phase with one aggregator: each rank waits for all, the library handles each
//                    row of all ranks, and the bytes of all pass to the aggregator and the file
//     alone, ROMIO   data sieving: reads from the first byte to the last, and writes that back in a
//                    write
//     alone, OMPIO   data sieving of reads with short holes, otherwise a call for each row
// clang-format on
//
// Files are in the page cache, as in the measurements. Nothing is returned where the price is not
// known: a write of a row by OMPIO took from 1 to 27 us, by the pages that the kernel keeps.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "common/direction.hpp"
#include "plan/platform_rates.hpp"

namespace weir::plan {

// The implementations of MPI-IO whose prices are known.
enum class MpiIo : std::uint8_t { unknown, ompio, romio };

// Returns the implementation of an MPI library by what MPI_Get_library_version tells, and the
// components that Open MPI's parameter `io` asks for; none if it is empty.
[[nodiscard]] MpiIo mpi_io_of(std::string_view version, std::string_view components);

// What one rank moves in a call: rows of bytes that follow each other in the file, and how far the
// last byte is from the first one.
struct RowsOfRank {
  double bytes = 0;
  double rows = 0;
  double span = 0;
};

// Returns what a collective call in which the part of each rank is one block takes beside the calls
// on the file that Weir makes, too; nothing if the library does not let each rank move its block.
[[nodiscard]] std::optional<double> more_seconds_of_blocks(MpiIo library, int ranks);

// Returns the time of a collective call of which each rank has such a part, so that the mean over
// ranks of unequal parts is right, too.
[[nodiscard]] std::optional<double> seconds_together(MpiIo library, Direction direction,
                                                     const RowsOfRank& part, int ranks,
                                                     const PlatformRates& rates);

// Returns the time of a call that the rank makes by itself.
[[nodiscard]] std::optional<double> seconds_alone(MpiIo library, Direction direction,
                                                  const RowsOfRank& part,
                                                  const PlatformRates& rates);

// Returns what a call of one block takes in the MPI library beside the system call that Weir makes,
// too. `has_holes`: the view has holes between its rows.
[[nodiscard]] double more_seconds_of_block(MpiIo library, Direction direction, bool has_holes);

}  // namespace weir::plan
