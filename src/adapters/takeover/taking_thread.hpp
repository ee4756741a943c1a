// The thread of a process whose calls Weir carries out together with other ranks, if the program
// may call MPI from several threads at the same time. A session serves one thread, and the calls of
// one thread have the same order on all ranks.
#pragma once

namespace weir::takeover {

// Returns whether this thread is that one: the first that asks, as it opens a file.
[[nodiscard]] bool is_taking_thread();

}  // namespace weir::takeover
