// The functions of the MPI library that are interposed. Each exists by its name and by that of the
// profiling interface, which the Fortran bindings of Open MPI call; those of MPICH call the former.
// Each passes the call on to the next function of the same name.
#include "adapters/mpiio/passed_on.hpp"
#include "adapters/mpiio/record.hpp"

using weir::mpiio::Count;
using weir::mpiio::counted;
using weir::mpiio::counted_atomicity;
using weir::mpiio::counted_closing;
using weir::mpiio::counted_deleting;
using weir::mpiio::counted_ending;
using weir::mpiio::counted_opening;
using weir::mpiio::counted_pointing;
using weir::mpiio::counted_settling;
using weir::mpiio::counted_showing;
using weir::mpiio::counted_sizing;
using weir::mpiio::counted_taking;
using weir::mpiio::counted_viewing;
using weir::mpiio::File;
using weir::mpiio::From;
using weir::mpiio::Function;
using weir::mpiio::Handle;
using weir::mpiio::note_resized;
using weir::mpiio::note_synced;
using weir::mpiio::Offset;
using weir::mpiio::Period;
using weir::mpiio::Real;
using weir::mpiio::Settling;
using weir::mpiio::TakenFile;
using weir::mpiio::TakeOver;
using weir::mpiio::Way;

// Defines a function that returns `result`, in which `real` is the function behind it.
#define WEIR_DEFINE(name, parameters, result)             \
  int name parameters;                                    \
  int name parameters {                                   \
    static constinit Real<decltype(&(name))> real{#name}; \
    return result;                                        \
  }

#define WEIR_INTERPOSED(name, parameters, result)  \
  WEIR_DEFINE(MPI_File_##name, parameters, result) \
  WEIR_DEFINE(PMPI_File_##name, parameters, result)

// A function whose parameter `file` is an open file.
#define WEIR_PASSED(name, parameters, arguments) \
  WEIR_INTERPOSED(name, parameters,              \
                  counted(Function::file_##name, file, [&] { return real.get() arguments; }))

// A function that meets staged bytes as `settling` says, and that `note` records like one of those.
#define WEIR_SETTLING(name, parameters, arguments, settling, size, note)     \
  WEIR_INTERPOSED(name, parameters,                                          \
                  counted_settling(                                          \
                      Function::file_##name, file, Settling::settling, size, \
                      [&] { return real.get() arguments; },                  \
                      [&](const Period& period) { static_cast<void>(period), note; }))

// A function that asks for the view of a file.
#define WEIR_SHOWING(name, parameters, arguments)                                      \
  WEIR_INTERPOSED(name, parameters, counted_showing(Function::file_##name, file, [&] { \
                    return real.get() arguments;                                       \
                  }))

// A function about a file pointer, which `known` may carry out.
#define WEIR_POINTING(name, parameters, arguments, known)                                \
  WEIR_INTERPOSED(name, parameters,                                                      \
                  counted_pointing(                                                      \
                      Function::file_##name, file, [&] { return real.get() arguments; }, \
                      [&](const TakeOver& calls, TakenFile* taken) { return calls.known; }))

// A function that moves elements and may be taken over, and that of MPI-4 whose count has 64 bits.
// `memory` is const for those that write, and `last` is a status or a request. The shape tells
// where the call begins.
#define WEIR_TAKEN(name, shape, way, writing)                                                   \
  WEIR_TAKEN_BY(name, name, shape##_PARAMETERS(int), shape##_ARGUMENTS, shape##_TRANSFER,       \
                (writing, Way::way))                                                            \
  WEIR_TAKEN_BY(name##_c, name, shape##_PARAMETERS(Count), shape##_ARGUMENTS, shape##_TRANSFER, \
                (writing, Way::way))
#define WEIR_TAKEN_BY(symbol, name, parameters, arguments, transfer, kind)   \
  WEIR_INTERPOSED(symbol, parameters,                                        \
                  counted_taking(Function::file_##name, file, transfer kind, \
                                 [&] { return real.get() arguments; }))

// The end of a split collective function.
#define WEIR_SPLIT_END(name, writing)                                          \
  WEIR_INTERPOSED(name, (File file, void* memory, void* status),               \
                  counted_ending(Function::file_##name, file, writing, status, \
                                 [&] { return real.get()(file, memory, status); }))

#define WEIR_HERE_PARAMETERS(number) \
  (File file, void* memory, number count, Handle datatype, void* last)
#define WEIR_HERE_ARGUMENTS (file, memory, count, datatype, last)
#define WEIR_HERE_TRANSFER(writing, way) \
  { writing, way, From::own_pointer, 0, memory, count, datatype, last }
#define WEIR_AT_PARAMETERS(number) \
  (File file, Offset offset, void* memory, number count, Handle datatype, void* last)
#define WEIR_AT_ARGUMENTS (file, offset, memory, count, datatype, last)
#define WEIR_AT_TRANSFER(writing, way) \
  { writing, way, From::offset, offset, memory, count, datatype, last }
#define WEIR_SHARED_PARAMETERS(number) WEIR_HERE_PARAMETERS(number)
#define WEIR_SHARED_ARGUMENTS WEIR_HERE_ARGUMENTS
#define WEIR_SHARED_TRANSFER(writing, way) \
  { writing, way, From::shared_pointer, 0, memory, count, datatype, last }
#define WEIR_BEGIN_HERE_PARAMETERS(number) (File file, void* memory, number count, Handle datatype)
#define WEIR_BEGIN_HERE_ARGUMENTS (file, memory, count, datatype)
#define WEIR_BEGIN_HERE_TRANSFER(writing, way) \
  { writing, way, From::own_pointer, 0, memory, count, datatype, nullptr }
#define WEIR_BEGIN_SHARED_PARAMETERS(number) WEIR_BEGIN_HERE_PARAMETERS(number)
#define WEIR_BEGIN_SHARED_ARGUMENTS WEIR_BEGIN_HERE_ARGUMENTS
#define WEIR_BEGIN_SHARED_TRANSFER(writing, way) \
  { writing, way, From::shared_pointer, 0, memory, count, datatype, nullptr }
#define WEIR_BEGIN_AT_PARAMETERS(number) \
  (File file, Offset offset, void* memory, number count, Handle datatype)
#define WEIR_BEGIN_AT_ARGUMENTS (file, offset, memory, count, datatype)
#define WEIR_BEGIN_AT_TRANSFER(writing, way) \
  { writing, way, From::offset, offset, memory, count, datatype, nullptr }

extern "C" {

WEIR_INTERPOSED(open, (Handle communicator, const char* path, int mode, Handle info, File* file),
                counted_opening(communicator, path, mode, file,
                                [&] { return real.get()(communicator, path, mode, info, file); }))
WEIR_INTERPOSED(close, (File * file), counted_closing(file, [&] { return real.get()(file); }))
WEIR_INTERPOSED(delete, (const char* path, Handle info),
                counted_deleting(path, [&] { return real.get()(path, info); }))

WEIR_SETTLING(set_size, (File file, Offset size), (file, size), resize, size,
              note_resized(file, size, period))
WEIR_SETTLING(preallocate, (File file, Offset size), (file, size), preallocation, size,
              static_cast<void>(0))
WEIR_INTERPOSED(get_size, (File file, Offset* size),
                counted_sizing(Function::file_get_size, file, size,
                               [&] { return real.get()(file, size); }))
WEIR_PASSED(get_group, (File file, void* group), (file, group))
WEIR_PASSED(get_amode, (File file, int* mode), (file, mode))
WEIR_PASSED(set_info, (File file, Handle info), (file, info))
WEIR_PASSED(get_info, (File file, void* info), (file, info))
WEIR_INTERPOSED(set_view,
                (File file, Offset displacement, Handle element, Handle view,
                 const char* representation, Handle info),
                counted_viewing(Function::file_set_view, file,
                                {displacement, element, view, representation}, info, [&] {
                                  return real.get()(file, displacement, element, view,
                                                    representation, info);
                                }))
WEIR_SHOWING(get_view,
             (File file, Offset* displacement, void* element, void* view, char* representation),
             (file, displacement, element, view, representation))

WEIR_TAKEN(read_at, WEIR_AT, independent, false)
WEIR_TAKEN(read_at_all, WEIR_AT, collective, false)
WEIR_TAKEN(write_at, WEIR_AT, independent, true)
WEIR_TAKEN(write_at_all, WEIR_AT, collective, true)
WEIR_TAKEN(iread_at, WEIR_AT, nonblocking, false)
WEIR_TAKEN(iwrite_at, WEIR_AT, nonblocking, true)
WEIR_TAKEN(iread_at_all, WEIR_AT, nonblocking, false)
WEIR_TAKEN(iwrite_at_all, WEIR_AT, nonblocking, true)

WEIR_TAKEN(read, WEIR_HERE, independent, false)
WEIR_TAKEN(read_all, WEIR_HERE, collective, false)
WEIR_TAKEN(write, WEIR_HERE, independent, true)
WEIR_TAKEN(write_all, WEIR_HERE, collective, true)
WEIR_TAKEN(iread, WEIR_HERE, nonblocking, false)
WEIR_TAKEN(iwrite, WEIR_HERE, nonblocking, true)
WEIR_TAKEN(iread_all, WEIR_HERE, nonblocking, false)
WEIR_TAKEN(iwrite_all, WEIR_HERE, nonblocking, true)
WEIR_TAKEN(read_shared, WEIR_SHARED, independent, false)
WEIR_TAKEN(write_shared, WEIR_SHARED, independent, true)
WEIR_TAKEN(iread_shared, WEIR_SHARED, nonblocking, false)
WEIR_TAKEN(iwrite_shared, WEIR_SHARED, nonblocking, true)
WEIR_TAKEN(read_ordered, WEIR_SHARED, collective, false)
WEIR_TAKEN(write_ordered, WEIR_SHARED, collective, true)

WEIR_POINTING(seek, (File file, Offset offset, int from), (file, offset, from),
              seek(taken, offset, from))
WEIR_POINTING(get_position, (File file, Offset* offset), (file, offset),
              get_position(taken, offset))
WEIR_SHOWING(get_byte_offset, (File file, Offset offset, Offset* displacement),
             (file, offset, displacement))
WEIR_SETTLING(seek_shared, (File file, Offset offset, int from), (file, offset, from), shared_seek,
              0, static_cast<void>(0))
WEIR_POINTING(get_position_shared, (File file, Offset* offset), (file, offset),
              get_position_shared(taken, offset))

WEIR_TAKEN(read_at_all_begin, WEIR_BEGIN_AT, split, false)
WEIR_TAKEN(write_at_all_begin, WEIR_BEGIN_AT, split, true)
WEIR_TAKEN(read_all_begin, WEIR_BEGIN_HERE, split, false)
WEIR_TAKEN(write_all_begin, WEIR_BEGIN_HERE, split, true)
WEIR_TAKEN(read_ordered_begin, WEIR_BEGIN_SHARED, split, false)
WEIR_TAKEN(write_ordered_begin, WEIR_BEGIN_SHARED, split, true)
WEIR_SPLIT_END(read_at_all_end, false)
WEIR_SPLIT_END(write_at_all_end, true)
WEIR_SPLIT_END(read_all_end, false)
WEIR_SPLIT_END(write_all_end, true)
WEIR_SPLIT_END(read_ordered_end, false)
WEIR_SPLIT_END(write_ordered_end, true)

WEIR_SHOWING(get_type_extent, (File file, Handle datatype, void* extent), (file, datatype, extent))
WEIR_INTERPOSED(set_atomicity, (File file, int on),
                counted_atomicity(Function::file_set_atomicity, file, on,
                                  [&] { return real.get()(file, on); }))
WEIR_PASSED(get_atomicity, (File file, int* on), (file, on))
WEIR_SETTLING(sync, (File file), (file), sync, 0, note_synced(file, period))
WEIR_PASSED(set_errhandler, (File file, Handle handler), (file, handler))
WEIR_PASSED(get_errhandler, (File file, void* handler), (file, handler))
WEIR_PASSED(call_errhandler, (File file, int code), (file, code))

}  // extern "C"

namespace {

// Writes the record before a call that may not return. A program without files leaves one, too.
template <typename Call>
int recorded(const Call& call) {
  weir::mpiio::take_record();
  weir::mpiio::end_record();
  return call();
}

template <typename Call>
int initialized(const Call& call) {
  const int result = call();
  if (result == weir::mpiio::success) weir::mpiio::begin_taking();
  return result;
}

template <typename Call>
int finalized(const Call& call) {
  return recorded([&] {
    weir::mpiio::end_taking();
    return call();
  });
}

}  // namespace

extern "C" {

WEIR_DEFINE(MPI_Init, (int* count, char*** words),
            initialized([&] { return real.get()(count, words); }))
WEIR_DEFINE(PMPI_Init, (int* count, char*** words),
            initialized([&] { return real.get()(count, words); }))
WEIR_DEFINE(MPI_Init_thread, (int* count, char*** words, int required, int* provided),
            initialized([&] { return real.get()(count, words, required, provided); }))
WEIR_DEFINE(PMPI_Init_thread, (int* count, char*** words, int required, int* provided),
            initialized([&] { return real.get()(count, words, required, provided); }))
WEIR_DEFINE(MPI_Finalize, (), finalized([&] { return real.get()(); }))
WEIR_DEFINE(PMPI_Finalize, (), finalized([&] { return real.get()(); }))
WEIR_DEFINE(MPI_Abort, (Handle communicator, int code),
            recorded([&] { return real.get()(communicator, code); }))
WEIR_DEFINE(PMPI_Abort, (Handle communicator, int code),
            recorded([&] { return real.get()(communicator, code); }))

}  // extern "C"
