// Data sieving: a hole, that is, bytes of a file between two requested runs, is moved along with
// the runs if its bytes take no longer than another call.
//
// This is the only place that decides it. Callers say what a call and a byte cost, whether the
// file's pages are in memory, and what is done with the holes.
#pragma once

#include <cstdint>

#include "array/copy.hpp"

namespace weir::array {

// The cost of moving bytes between a file and memory.
struct TransferCost {
  double call_seconds = 0;  // of one call, in addition to its bytes
  double bytes_per_second = 0;
};

// Costs of reads by a process that knows nothing else of its platform. docs/measurements/library.md
// has the measurement of the first: a read from the page cache takes 1 us, and 8 KiB more take as
// long again. The second is an access to storage of some 0.13 ms, during which a device passes 128
// KiB at 1 GB/s; it was chosen for a solid-state disk and holds for slower storage, where an access
// takes longer.
inline constexpr TransferCost cached_read = {1e-6, 8.192e9};
inline constexpr TransferCost cold_read = {131.072e-6, 1e9};

// No hole is moved along if it is longer than this, whatever calls cost. It bounds the memory that
// holes take.
inline constexpr std::int64_t most_hole_bytes = std::int64_t{256} << 10;

// A transfer is short below this length: a call then costs more than half of the time that its
// bytes take in the page cache.
inline constexpr std::int64_t short_transfer_bytes = std::int64_t{16} << 10;

enum class HoleUse : std::uint8_t {
  read,       // the bytes are read and dropped
  rewritten,  // the bytes are read, and written back with the changed runs
};

// Returns the length of the longest hole that is moved along.
[[nodiscard]] std::int64_t widest_hole(const TransferCost& cost, HoleUse use = HoleUse::read);
// Returns the length of the longest hole that a read moves along, if reading costs `cached`. A cold
// file, whose pages are not in memory, costs no less than cold_read.
[[nodiscard]] std::int64_t widest_hole_of_read(const TransferCost& cached, bool cold);

// Returns whether a hole of this length is moved along. A negative length is an overlap or a step
// back, behind which a call of its own begins; with `widest` -1, no hole and no following run is.
[[nodiscard]] constexpr bool moves_along(std::int64_t hole, std::int64_t widest) {
  return hole >= 0 && hole <= widest;
}

// The runs of a copy's target, which is a file, that one call moves.
struct RunsTogether {
  int level = 0;           // they are the runs of the levels from this one inwards
  std::int64_t bytes = 0;  // from the first to the last, with the holes
};
// Returns as many levels as have only holes of at most `widest` bytes, and end within `most` bytes.
[[nodiscard]] RunsTogether runs_together(const StridedCopy& to_file, std::int64_t widest,
                                         std::int64_t most);

}  // namespace weir::array
