// Records calls of MPI-IO in their order (adapters/calls/call_order.hpp), for `weir record --level
// mpiio`. The offsets are those in the file: the view of each open file is kept, and the bytes of a
// call are found in it. Of a nonblocking call, and of the first half of a split one, the record has
// the time in this call. Calls whose bytes are not known count as missed: those at the shared file
// pointer, of views that are too irregular, and of more than most_moved_bytes.
#pragma once

#include <cstdint>

#include "adapters/calls/call_order.hpp"
#include "adapters/mpiio/file_counts.hpp"
#include "adapters/mpiio/handle.hpp"
#include "adapters/mpiio/take_over.hpp"

namespace weir::mpiio {

inline constexpr std::int64_t most_moved_bytes = 0x7ffff000;  // of a call, as replays allow it

// When a call began and ended.
struct Period {
  std::int64_t start_ns;
  std::int64_t end_ns;
};

[[nodiscard]] inline bool is_ordering() { return calls::ordering.load(relaxed); }

// Begins the record of this process if the environment asks for one.
void begin_ordering();

void note_opened(FileCounts& opened, Handle communicator, int mode, File file,
                 const Period& period);
// Called before the MPI library closes the file, and after.
void forget_view(File file);
void note_closed(FileCounts& closed, const Period& period);

void note_view(File file, const SetView& set);
void note_synced(File file, const Period& period);
void note_resized(File file, Offset size, const Period& period);

// Returns the element at which a call will begin; negative if it is not known. Called before it.
[[nodiscard]] Offset begin_of(File file, const Transfer& transfer);
void note_transfer(Function function, File file, const Transfer& transfer, Offset at,
                   const Period& period);

}  // namespace weir::mpiio
