// The functions that libweir_mpiio.so calls (adapters/mpiio/take_over.hpp) are here.
#include "adapters/mpiio/take_over.hpp"

#include <mpi.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <new>
#include <numeric>
#include <span>
#include <vector>

#include "adapters/takeover/handles.hpp"
#include "adapters/takeover/program_nodes.hpp"
#include "adapters/takeover/rank_group.hpp"
#include "adapters/takeover/recorded_view.hpp"
#include "adapters/takeover/stored_chunks.hpp"
#include "adapters/takeover/taken_file.hpp"
#include "adapters/takeover/taking_thread.hpp"

namespace weir::mpiio {
namespace {

using takeover::from_handle;

// Ranks that others have spawned may be elsewhere.
bool is_part_of_world(MPI_Comm communicator) {
  MPI_Group world = MPI_GROUP_NULL;
  MPI_Group own = MPI_GROUP_NULL;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Comm_group(communicator, &own);
  int ranks = 0;
  MPI_Group_size(own, &ranks);
  std::vector<int> here(static_cast<std::size_t>(ranks));
  std::iota(here.begin(), here.end(), 0);
  std::vector<int> there(here.size());
  MPI_Group_translate_ranks(own, ranks, here.data(), world, there.data());
  MPI_Group_free(&own);
  MPI_Group_free(&world);
  return std::find(there.begin(), there.end(), MPI_UNDEFINED) == there.end();
}

// Returns whether MPI was given no valid communicator, so that its ranks cannot be asked anything.
bool has_no_ranks(const Opening& opening) {
  if (from_handle<MPI_Comm>(opening.communicator) == MPI_COMM_NULL) return true;
  int kind = MPI_SUCCESS;
  if (opening.result != MPI_SUCCESS) MPI_Error_class(opening.result, &kind);
  return kind == MPI_ERR_COMM || kind == MPI_ERR_ARG;
}

// Says what the ranks of a communicator, which are opening a file, find out together: the greatest
// of their values.
enum Threads : int {
  one_at_a_time,  // no rank calls MPI from several threads at the same time
  from_its_own,  // some may, and each of these opens the file by the thread that is_taking_thread()
  from_another,
};

Threads threads_of(MPI_Comm communicator) {
  int level = MPI_THREAD_SINGLE;
  MPI_Query_thread(&level);
  int own = one_at_a_time;
  if (level == MPI_THREAD_MULTIPLE)
    own = takeover::is_taking_thread() ? from_its_own : from_another;
  int most = from_another;
  const int done = MPI_Allreduce(&own, &most, 1, MPI_INT, MPI_MAX, communicator);
  return done == MPI_SUCCESS ? static_cast<Threads>(most) : from_another;
}

// Returns why no rank of the communicator takes anything over, whatever the file is: each finds the
// same.
Reason refusal(const Opening& opening, Threads& threads) {
  if (has_no_ranks(opening)) return Reason::not_opened;
  const auto communicator = from_handle<MPI_Comm>(opening.communicator);
  if (!takeover::do_all_ranks_take_part() || !is_part_of_world(communicator)) {
    return Reason::several_nodes;
  }
  threads = threads_of(communicator);
  return threads == from_another ? Reason::threads : Reason::taken;
}

TakenFile* open_file(const Opening& opening, Reason& reason) {
  Threads threads = one_at_a_time;
  reason = refusal(opening, threads);
  if (reason != Reason::taken) return nullptr;
  return TakenFile::open(opening, threads == from_its_own, reason).release();
}

int close_file(TakenFile* file) {
  const std::unique_ptr<TakenFile> closed(file);
  return closed->close();
}

bool keep_view(TakenFile* file, const SetView& view, Handle info, int& result) {
  return file->keep_view(view, from_handle<MPI_Info>(info), result);
}

void set_view(TakenFile* file, int result, Offset displacement, Handle element, Handle view,
              const char* representation) {
  file->set_view(result, displacement, from_handle<MPI_Datatype>(element),
                 from_handle<MPI_Datatype>(view), representation);
}

void set_atomicity(TakenFile* file, int result, int atomic) {
  file->set_atomicity(result, atomic != 0);
}

Moved move_bytes(TakenFile* file, const Transfer& transfer) { return file->move(transfer); }

bool seek(TakenFile* file, Offset offset, int from) { return file->seek(offset, from); }

bool get_position(TakenFile* file, Offset* offset) { return file->get_position(offset); }

bool get_position_shared(TakenFile* file, Offset* offset) {
  return file->get_position_shared(offset);
}

File handle_of(TakenFile* file) { return reinterpret_cast<File>(file->handle()); }

Moved move_in_view(TakenFile* file, const SetView& view, const Transfer& transfer, Reason own) {
  try {
    return file->move_in_view(view, transfer, own);
  } catch (const std::exception&) {  // for lack of memory; others may end at Weir's deadline
    return {Reason::failed};
  }
}

Moved move_in_chunks(TakenFile* file, const StoredChunks* chunks, const ChunkedBlocks& blocks,
                     const Transfer& transfer, Reason own) {
  try {
    return file->move_in_chunks(chunks, blocks, transfer, own);
  } catch (const std::exception&) {  // for lack of memory; others may end at Weir's deadline
    return {Reason::failed};
  }
}

Reason agree(TakenFile* file, Reason own, const std::int64_t* arrays, std::size_t count) {
  try {
    return file->agree(own, std::span(arrays, count));
  } catch (const std::exception&) {  // for lack of memory; others may end at Weir's deadline
    return Reason::failed;
  }
}

int sync_file(TakenFile* file) { return file->sync(); }

int settle(TakenFile* file, Settling call, Offset size) {
  try {
    return file->settle(call, size);
  } catch (const std::exception&) {  // for lack of memory; others may end at Weir's deadline
    return MPI_ERR_IO;
  }
}

Offset size_of_file(const TakenFile* file, Offset size) { return file->size_of(size); }

void await_closed(const char* path) {
  try {
    takeover::RankGroup::await_closed(path);
  } catch (const std::exception&) {
    return;  // for lack of memory; MPI_Finalize tells what is not stored
  }
}

bool end_split(TakenFile* file, void* status) {
  return file->end_split(static_cast<MPI_Status*>(status));
}

void passed_on(TakenFile* file) { file->passed_on(); }

void finalize() { takeover::RankGroup::close_all(); }

bool has_all_ranks(Handle communicator) {
  int here = 0;
  int all = 0;
  return MPI_Comm_size(from_handle<MPI_Comm>(communicator), &here) == MPI_SUCCESS &&
         MPI_Comm_size(MPI_COMM_WORLD, &all) == MPI_SUCCESS && here == all;
}

RecordedView* new_view() { return new (std::nothrow) RecordedView; }

void delete_view(RecordedView* view) { const std::unique_ptr<RecordedView> deleted(view); }

void change_view(RecordedView* view, const SetView& set) {
  try {
    view->change(set);
  } catch (const std::exception&) {  // for lack of memory
    view->forget();
  }
}

bool find_bytes(const RecordedView* view, Offset at, std::int64_t bytes, TakeBytes take,
                void* context) {
  try {
    const auto found = view->find(at, bytes);
    if (found) take(context, found->offset, found->shape.data(), found->shape.size());
    return found.has_value();
  } catch (const std::exception&) {
    return false;
  }
}

StoredChunks* new_chunks(const ChunkedShape& shape) {
  try {
    return StoredChunks::create(shape).release();
  } catch (const std::exception&) {  // for lack of memory
    return nullptr;
  }
}

void delete_chunks(StoredChunks* chunks) { const std::unique_ptr<StoredChunks> deleted(chunks); }

bool add_chunk(StoredChunks* chunks, const std::uint64_t* corner, std::int64_t offset) {
  try {
    return chunks->add(corner, offset);
  } catch (const std::exception&) {  // for lack of memory
    return false;
  }
}

int end_chunks(StoredChunks* chunks) {
  try {
    chunks->end();
    return chunks->are_all() ? 1 : 0;
  } catch (const std::exception&) {  // for lack of memory
    return -1;
  }
}

constexpr TakeOver functions{open_file,    close_file,    keep_view,
                             set_view,     set_atomicity, move_bytes,
                             seek,         get_position,  get_position_shared,
                             handle_of,    move_in_view,  move_in_chunks,
                             agree,        sync_file,     settle,
                             size_of_file, await_closed,  end_split,
                             passed_on,    finalize,      has_all_ranks,
                             new_view,     delete_view,   change_view,
                             find_bytes,   new_chunks,    delete_chunks,
                             add_chunk,    end_chunks,    takeover::meet_all_ranks};

}  // namespace
}  // namespace weir::mpiio

extern "C" {

const weir::mpiio::TakeOver* weir_mpiio_take_over(std::int64_t version) {
  return version == weir::mpiio::take_over_version ? &weir::mpiio::functions : nullptr;
}

}  // extern "C"
