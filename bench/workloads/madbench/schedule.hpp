// The order of computations and transfers in each function. Pure.
//
// One schedule serves both modes. In ASYNC mode a transfer runs from its begin to its wait, while
// the steps between them are done. In SYNC mode a write runs at its begin and a read at its wait,
// which gives the order of Borrill et al., section 2.2: "write, compute, read".
//
//   S   compute 0, write 0, compute 1, write 1, …
//   W   read 0, compute 0, read 1 | write 0, compute 1, read 2 | … | write n-2, compute n-1 |
//       write n-1          (two reads precede the first write, two writes follow the last read)
//   C   read 0, compute 0, read 1, compute 1, …
//
// With gangs, W's unit i is no_gang matrices of level 1, each read over all ranks and remapped,
// that give each gang one matrix of level 2.
//
// Invariant: payload is generated (before begin_write) and checked (after wait_read) only while no
// transfer is in flight, so that the benchmark's own work never hides a transfer.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/madbench/layout.hpp"

namespace weir::bench::madbench {

// The paper's names.  NOLINTNEXTLINE(readability-identifier-naming)
enum class Function : std::int8_t { S = 0, D = 1, W = 2, C = 3 };
[[nodiscard]] const char* name_of(Function function);

enum class Action { begin_read, wait_read, remap, compute, begin_write, wait_write };

struct Step {
  Action action = Action::compute;
  // For a transfer, the matrix of the transfer's level; for a computation, that of the function's
  // level.
  std::int64_t matrix = 0;
  // In full mode's C, which reads matrices again: the number of the read, from 0.
  std::int64_t turn = 0;
  friend bool operator==(const Step&, const Step&) = default;
};

[[nodiscard]] std::vector<Step> schedule_of(Function function, std::int64_t no_bin,
                                            std::int64_t no_gang);

// Full mode needs the product of every pair of results, so C reads the results of each unit again
// for every unit before it. Pair `turn` consists of the results `column`, kept in memory, and
// `row`, which is read. Pairs are ordered by column, then by row; column <= row.
struct Pair {
  std::int64_t column = 0;
  std::int64_t row = 0;
};
[[nodiscard]] std::vector<Pair> pairs_of(std::int64_t units);
[[nodiscard]] std::vector<Step> full_schedule_of(Function function, std::int64_t no_bin,
                                                 std::int64_t no_gang);

// Return the exponent of the busy work of one compute step, and the gang level of the function's
// parts.
[[nodiscard]] int compute_exponent(Function function);  // S 2, W 3, C 2
[[nodiscard]] GangLevel compute_level(Function function);
[[nodiscard]] GangLevel read_level(Function function);
[[nodiscard]] GangLevel write_level(Function function);

}  // namespace weir::bench::madbench
