// Whether all ranks of the program can take part in what is taken over: those that were started
// without the library would make the others wait.
#pragma once

namespace weir::takeover {

// Returns whether the launcher tells that all ranks run on one node. They have the same environment
// there, unless they are linked statically with MPI.
[[nodiscard]] bool are_all_ranks_on_one_node();

// Called on each rank that has the library, right after MPI_Init. Sends messages without content in
// MPI_COMM_WORLD, before the program can receive any, and returns when all ranks have done so, or
// after a minute, or WEIR_DEADLINE if that is less. A rank without the library keeps two or more of
// these messages, which it never asked for.
void meet_all_ranks();

// Returns whether all ranks are on one node, or have met. The ranks that have the library find the
// same.
[[nodiscard]] bool do_all_ranks_take_part();

}  // namespace weir::takeover
