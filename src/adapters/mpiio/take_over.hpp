// What the library that is loaded into programs asks of the one that takes calls over
// (src/adapters/takeover), which it loads if it is of the program's MPI, and which also finds the
// bytes of calls that are recorded. Handles pass as they came.
//
// The MPI library opens every file, too: so errors, sizes and all calls that are not taken over are
// those of the MPI library, at any time. It has the program's view and shared file pointer, or gets
// them before a call is passed on. The individual file pointer moves here, and the MPI library's is
// moved after it before a call is passed on that begins there.
//
// Two libraries do not write one file at the same time: the MPI library may write what is between
// the bytes of a call back as it was before. Whether independent calls are taken over is decided
// for all ranks together when a view or the atomic mode is set: no rank makes an independent call
// before all have set the view. Collective calls are decided one by one, and no rank leaves one
// that the MPI library has carried out before all have.
//
// Where collective writes are handed to a stager, the bytes may come into the file later than the
// call returns. Every other call that could meet them waits until they are there, also those that
// are passed on.
#pragma once

#include <cstddef>
#include <cstdint>

#include "adapters/mpiio/handle.hpp"
#include "adapters/mpiio/reason.hpp"
#include "adapters/mpiio/without.hpp"

namespace weir::mpiio {

struct TakenFile;     // a file of which calls are taken over
struct RecordedView;  // the bytes that a file of which calls are recorded shows to this rank
struct StoredChunks;  // where the chunks of an array are in a file

// An MPI_File_open that has returned `result`.
struct Opening {
  Handle communicator;
  const char* path;
  int mode;
  File file;
  int result;
  bool has_room;  // calls on the file can be told from those on others
  bool stages;    // all calls on the file are told of here, so that its writes may be staged
};

enum class Way : std::uint8_t {
  collective,
  independent,
  nonblocking,  // independent or collective: each rank moves its part by itself
  split         // the beginning of a split collective call
};

enum class From : std::uint8_t { offset, own_pointer, shared_pointer };

// A write or read. If it is collective and at the shared file pointer, the ranks' parts follow each
// other in the order of the ranks.
struct Transfer {
  bool writing;
  Way way;
  From from;
  Offset offset;  // only if it begins there
  void* memory;
  Count count;
  Handle datatype;
  void* last;  // the status, or the request of a nonblocking call; null for a split one
};

// The arguments of an MPI_File_set_view.
struct SetView {
  Offset displacement;
  Handle element;
  Handle view;
  const char* representation;
};

// An array in chunks of these extents, in elements; all chunks are stored whole.
struct ChunkedShape {
  int dimensions;
  const std::uint64_t* extents;  // of the array
  const std::uint64_t* chunk_extents;
  std::int64_t element_bytes;
};

// Elements of an array: along each dimension `count` blocks of `block` of them, from `start` on,
// `stride` apart.
struct ChunkedBlocks {
  const std::uint64_t* start;
  const std::uint64_t* count;
  const std::uint64_t* stride;
  const std::uint64_t* block;
  // In memory, along each dimension, bytes from one of these elements to the next, also between
  // blocks; the memory of the transfer is then that of the first one, and its datatype is not
  // looked at. Null: memory is as that says.
  const std::int64_t* memory_strides;
};

// Takes the bytes of a call: the offset of the first one and, if they are not one block, the
// numbers of their shape (adapters/calls/call_order.hpp).
using TakeBytes = void (*)(void* context, std::int64_t offset, const std::int64_t* numbers,
                           std::size_t count);

// Says what became of a call.
struct Moved {
  Reason reason = Reason::taken;
  int result = 0;  // what the call returns if it was taken over: MPI_SUCCESS, or an error class
  std::int64_t bytes = 0;  // that the call asked to move, if it was taken over and succeeded
  bool staged = false;     // a stager has them now
  Without without = {};    // if it was taken over and succeeded
};

// Says for which call on a file the staged bytes have to be in it.
enum class Settling : std::uint8_t {
  none,
  sync,           // collective; as durable as the MPI library's own MPI_File_sync makes its bytes
  resize,         // collective
  preallocation,  // collective
  atomicity,      // collective
  shared_seek     // collective; on this rank only, since the call may ask where the file ends
};

struct TakeOver {
  // Called on all ranks, whatever the result. Null with a reason, or the file.
  TakenFile* (*open)(const Opening& opening, Reason& reason);
  // Called on all ranks before the MPI library closes the file. Returns MPI_SUCCESS or, on all
  // ranks alike, the error class of what the storage has refused only now, as NFS may.
  int (*close)(TakenFile* file);
  // Called on all ranks before the MPI library sets a view. Returns true if it is not to, with what
  // the call returns.
  bool (*keep_view)(TakenFile* file, const SetView& view, Handle info, int& result);
  // Called on all ranks after the MPI library has set a view or the atomic mode, or has returned
  // the error `result`.
  void (*set_view)(TakenFile* file, int result, Offset displacement, Handle element, Handle view,
                   const char* representation);
  void (*set_atomicity)(TakenFile* file, int result, int atomic);
  // Moves the bytes, sets the status or the request, and moves the file pointer. If the storage
  // refuses the bytes, calls the error handler of the file; of a collective call with the same
  // error class on all ranks. Or does nothing of that; of a collective call with the same reason on
  // all ranks.
  Moved (*move)(TakenFile* file, const Transfer& transfer);
  // Sets the individual file pointer, or tells it. Returns false if the MPI library is to do so,
  // which also returns the errors.
  bool (*seek)(TakenFile* file, Offset offset, int from);
  bool (*get_position)(TakenFile* file, Offset* offset);
  bool (*get_position_shared)(TakenFile* file, Offset* offset);
  // Returns the handle with which the MPI library carries out a call that was not taken over, or
  // one that asks for the view.
  File (*handle)(TakenFile* file);
  // Does what move() does for a call with a view of its own, which later calls do not have; it is
  // collective or independent. `own` is the reason for which this rank has the call passed on, or
  // Reason::taken.
  Moved (*move_in_view)(TakenFile* file, const SetView& view, const Transfer& transfer, Reason own);
  // Does so for a call that moves elements of an array in chunks, which are in the file. Ranks that
  // call it together name the same array. `chunks` may be null if there is a reason.
  Moved (*move_in_chunks)(TakenFile* file, const StoredChunks* chunks, const ChunkedBlocks& blocks,
                          const Transfer& transfer, Reason own);
  // Called on all ranks for a call that moves several arrays one after the other, before the first
  // one. Returns the same reason on all ranks: Reason::taken if none has an own one, and if all
  // name the same `count` arrays, each by its number.
  Reason (*agree)(TakenFile* file, Reason own, const std::int64_t* arrays, std::size_t count);
  // Makes what this rank wrote durable. Returns MPI_SUCCESS or an error class.
  int (*sync)(TakenFile* file);
  // Called before such a call; `size` is that of a resizing. Waits for staged bytes where the call
  // would meet them. Returns MPI_SUCCESS or the error class of what the stager could not store, for
  // which it has called the error handler of the file; of a collective call the same on all ranks.
  int (*settle)(TakenFile* file, Settling call, Offset size);
  // Returns the size of the file if all staged bytes were in it that has `size` without them.
  Offset (*size_of)(const TakenFile* file, Offset size);
  // Called on each rank before the MPI library opens or deletes a file, or a call of libc cuts or
  // renames it. Waits for bytes of it that were staged when it was closed. Other threads than the
  // main one, and children of the process, do not wait.
  void (*await_closed)(const char* path);
  // Sets the status of the split call that was taken over. Returns false if none was.
  bool (*end_split)(TakenFile* file, void* status);
  // Called on all ranks after the MPI library has carried out a collective write.
  void (*passed_on)(TakenFile* file);
  // Called before MPI_Finalize.
  void (*finalize)();

  // Returns whether the communicator has all ranks of the program. Local.
  bool (*has_all_ranks)(Handle communicator);
  // Returns the whole file as a view; null if there is no memory.
  RecordedView* (*new_view)();
  void (*delete_view)(RecordedView* view);
  void (*change_view)(RecordedView* view, const SetView& set);
  // Finds the bytes of a call that begins `at` elements behind the beginning of the view. Returns
  // false, and does not call take(), if the view is not known, or if its bytes are too irregular.
  bool (*find_bytes)(const RecordedView* view, Offset at, std::int64_t bytes, TakeBytes take,
                     void* context);

  // Returns an array of which no chunk is in the file; null if Weir has no such arrays, or if there
  // is no memory.
  StoredChunks* (*new_chunks)(const ChunkedShape& shape);
  void (*delete_chunks)(StoredChunks* chunks);
  // Adds the chunk that begins at the element `corner` of the array, and `offset` bytes behind the
  // beginning of the file. Returns false if this or the number of chunks is not possible.
  bool (*add_chunk)(StoredChunks* chunks, const std::uint64_t* corner, std::int64_t offset);
  // Called after the last chunk was added. Returns whether all are in the file; nothing, as -1, if
  // there is no memory.
  int (*end_chunks)(StoredChunks* chunks);

  // Called right after MPI_Init if all ranks are said to have the libraries, wherever they run.
  // Finds out whether they have.
  void (*meet_all_ranks)();
};

// The function of this name of the library that takes over.
inline constexpr const char* take_over_function = "weir_mpiio_take_over";
using GetTakeOver = const TakeOver* (*)(std::int64_t version);
// The version of this header: both libraries have to have the same.
inline constexpr std::int64_t take_over_version = 15;

}  // namespace weir::mpiio

// The function itself, for a library that is linked with that one.
extern "C" const weir::mpiio::TakeOver* weir_mpiio_take_over(std::int64_t version);
