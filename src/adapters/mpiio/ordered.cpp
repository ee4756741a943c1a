#include "adapters/mpiio/ordered.hpp"

#include <cstdlib>
#include <span>

#include "adapters/mpiio/passed_on.hpp"
#include "adapters/mpiio/taking.hpp"

namespace weir::mpiio {
namespace {

// Flags of MPI_File_open, which have these values in Open MPI and in MPICH.
constexpr int mode_create = 1;
constexpr int mode_write_only = 4;
constexpr int mode_read_write = 8;

bool is_collective(Function function) {
  switch (function) {
    case Function::file_read_at_all:
    case Function::file_write_at_all:
    case Function::file_read_all:
    case Function::file_write_all:
    case Function::file_iread_at_all:
    case Function::file_iwrite_at_all:
    case Function::file_iread_all:
    case Function::file_iwrite_all:
    case Function::file_read_at_all_begin:
    case Function::file_write_at_all_begin:
    case Function::file_read_all_begin:
    case Function::file_write_all_begin:
      return true;
    default:
      return false;
  }
}

// A call whose bytes are being found.
struct Moving {
  calls::CallKind kind;
  FileCounts& file;
  std::int64_t bytes;
  const Period& period;
};

void note_found(void* context, std::int64_t offset, const std::int64_t* numbers,
                std::size_t count) {
  const auto& moving = *static_cast<Moving*>(context);
  calls::note_call(moving.kind, &moving.file, offset, moving.bytes, moving.period.start_ns,
                   moving.period.end_ns, std::span(numbers, count));
}

}  // namespace

void begin_ordering() {
  const char* const folder = ::getenv("WEIR_MPIIO_ORDER_FOLDER");
  if (folder == nullptr || *folder == '\0') return;
  Reason reason = Reason::taken;
  (void)loaded_if_asked(reason);  // before any call, whose times it would change
  calls::begin_order(folder);
}

void note_opened(FileCounts& opened, Handle communicator, int mode, File file,
                 const Period& period) {
  const TakeOver* const library = take_over();
  std::int64_t flags = (mode & (mode_write_only | mode_read_write)) != 0 ? calls::open_writes : 0;
  if ((mode & mode_create) != 0) flags |= calls::open_creates;
  if (library != nullptr) {
    if (library->has_all_ranks(communicator)) flags |= calls::open_together;
    counts().set_view(file, library->new_view());
  }
  calls::note_opening(&opened, flags, period.start_ns, period.end_ns);
}

void forget_view(File file) {
  RecordedView* const view = counts().view_of(file);
  if (view != nullptr) take_over()->delete_view(view);
}

void note_closed(FileCounts& closed, const Period& period) {
  calls::note_call(calls::CallKind::close, &closed, 0, 0, period.start_ns, period.end_ns);
}

void note_view(File file, const SetView& set) {
  RecordedView* const view = counts().view_of(file);
  if (view != nullptr) take_over()->change_view(view, set);
}

void note_synced(File file, const Period& period) {
  calls::note_call(calls::CallKind::sync, &counts().of_handle(file), 0, 0, period.start_ns,
                   period.end_ns);
}

void note_resized(File file, Offset size, const Period& period) {
  calls::note_call(calls::CallKind::truncate, &counts().of_handle(file), size, 0, period.start_ns,
                   period.end_ns);
}

Offset begin_of(File file, const Transfer& transfer) {
  if (transfer.from == From::offset) return transfer.offset;
  if (transfer.from == From::shared_pointer) return -1;
  using GetPosition = int (*)(File, Offset*);
  static constinit Real<GetPosition> position{"PMPI_File_get_position"};
  Offset at = 0;
  return position.get()(file, &at) == success ? at : -1;
}

void note_transfer(Function function, File file, const Transfer& transfer, Offset at,
                   const Period& period) {
  const bool together = is_collective(function);
  std::int64_t bytes = 0;
  const auto each = static_cast<std::int64_t>(bytes_of(transfer.datatype));
  if (__builtin_mul_overflow(transfer.count, each, &bytes)) bytes = most_moved_bytes + 1;
  Moving moving{transfer.writing ? (together ? calls::CallKind::write_all : calls::CallKind::write)
                                 : (together ? calls::CallKind::read_all : calls::CallKind::read),
                counts().of_handle(file), bytes, period};
  if (bytes == 0 && transfer.from != From::shared_pointer) {
    // A rank without bytes takes part in a collective call.
    if (together) note_found(&moving, 0, nullptr, 0);
    return;
  }
  const RecordedView* const view = counts().view_of(file);
  const bool is_found = view != nullptr && at >= 0 && bytes <= most_moved_bytes &&
                        take_over()->find_bytes(view, at, bytes, note_found, &moving);
  if (!is_found) calls::note_unknown(&moving.file, bytes);
}

}  // namespace weir::mpiio
