// A reason says why a collective call, or all of a file, was passed on to the MPI library and not
// taken over.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weir::mpiio {

enum class Reason : std::uint8_t {
  taken,  // none: it was taken over
  other_mpi,
  not_loaded,
  several_nodes,
  threads,
  no_room,
  sequential,
  not_opened,
  late_caches,
  no_session,
  atomic,
  representation,
  irregular,
  arguments,
  past_end,
  memory,
  shared_pointer,
  not_mpio,  // this and the next ones are those of calls of HDF5 (adapters/hdf5)
  not_collective,
  layout,
  chunks,
  conversion,
  selection,
  overlap,
  failed,
  lost,  // a stager had bytes of the file that are lost: the call fails, and is not passed on
};

// In the order of the reasons. A record has these texts, and the table prints them.
inline constexpr std::array<std::string_view, 26> reason_texts{
    "taken over",
    "no library that takes calls over was built with the program's MPI",
    "the library that takes calls over could not be loaded",
    "the launcher does not tell that all ranks run on one node",
    "with MPI_THREAD_MULTIPLE, another thread made the call than opened the first file",
    "too many files are open at the same time",
    "the file was opened with MPI_MODE_SEQUENTIAL",
    "the file was not opened, is no regular file, or could not be opened once more",
    "nodes see each other's writes late on the file's file system",
    "Weir could not open a session",
    "the file is in atomic mode",
    "the data representation of a view is not native",
    "a view is of too many patterns, or its datatype is constructed in an unknown way",
    "a rank's arguments do not fit its view or the mode of the file",
    "a rank reads past the end of the file",
    "a rank's memory has holes, and more than 2 GiB",
    "the call moves the shared file pointer without the other ranks",
    "the file was not opened with HDF5's driver mpio",
    "the call is not collective",
    "a dataset is compact, virtual, external or filtered, or has no place in the file yet",
    "a chunked dataset has too many chunks, or its selection is no regular hyperslab",
    "elements in memory are not those of the file, byte by byte",
    "a selection does not fit, or is of too many blocks",
    "ranks write the same bytes, or Weir refused the call",
    "Weir failed to move the bytes",
    "a stager has lost bytes of the file",
};
inline constexpr std::size_t reasons = reason_texts.size();

}  // namespace weir::mpiio
