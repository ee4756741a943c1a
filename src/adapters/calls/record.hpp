// The record that a process leaves for `weir run --advise`: one text file in the folder that the
// environment variable WEIR_CALLS_FOLDER names. It is begun when the process begins, and ended when
// the process ends or calls exec. A process that is killed leaves only the beginning.
//
// A line consists of words separated by tabs. In the last word of a line, a path, each backslash,
// tab and newline is escaped by a backslash (\\, \t, \n).
//
//   weir-calls 1
//   process PID RANK RANKS HOST TIME PROGRAM     rank and ranks are -1 if no launcher set them
//   total OPERATION COUNT NS
//   file MADE WROTE BYTES_READ BYTES_WRITTEN FIRST_NS LAST_NS OPERATION=COUNT,... PATH
//   folder MADE_INSIDE PATH
//   left-out OPERATIONS FILES                    operations on, and number of, files without a line
//   end NS                                       time since the process began
//
// At most `most_lines` files and folders have lines: those with the most operations.
#pragma once

#include <cstddef>

namespace weir::calls {

inline constexpr std::size_t most_lines = 4096;

}  // namespace weir::calls
