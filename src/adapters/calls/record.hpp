// What a process leaves behind for `weir run --advise`: one text file in the folder that the
// environment variable WEIR_CALLS_FOLDER names, begun when the process begins and ended when it
// ends or calls exec. A process that was killed leaves its beginning.
//
// A line is words with tabs between; in the last word of a line, a path, backslash, tab and newline
// have a backslash before them (\\, \t, \n).
//
//   weir-calls 1
//   process PID RANK RANKS HOST TIME PROGRAM     rank and ranks -1 where no launcher set them
//   total OPERATION COUNT NS
//   file MADE WROTE BYTES_READ BYTES_WRITTEN FIRST_NS LAST_NS OPERATION=COUNT,... PATH
//   folder MADE_INSIDE PATH
//   left-out OPERATIONS FILES                    on files, and files, that have no line
//   end NS                                       since the process began
//
// At most `most_lines` files and folders have lines, those with the most operations.
#pragma once

#include <cstddef>

namespace weir::calls {

inline constexpr std::size_t most_lines = 4096;

}  // namespace weir::calls
