// Views and file pointers of a file of which calls are taken over, and how the MPI library gets
// them when it carries out a call.
#include <array>
#include <cstring>

#include "adapters/takeover/datatype_pattern.hpp"
#include "adapters/takeover/handles.hpp"
#include "adapters/takeover/taken_file.hpp"
#include "common/checked.hpp"

namespace weir::mpiio {

using takeover::from_handle;
using takeover::TypedMemory;

// The MPI library would refuse these arguments on this rank alone, and so it is done here.
int TakenFile::refusal_of(const SetView& view) const {
  if (view.displacement < 0) return MPI_ERR_ARG;
  for (const Handle handle : {view.element, view.view}) {
    const auto datatype = from_handle<MPI_Datatype>(handle);
    if (datatype == MPI_DATATYPE_NULL) return MPI_ERR_TYPE;
    const TypedMemory none{nullptr, 0, datatype, group_.communicator()};
    if (!takeover::predefined_bytes(datatype) && !none.is_committed()) return MPI_ERR_TYPE;
  }
  return MPI_SUCCESS;
}

bool TakenFile::keep_view(const SetView& view, MPI_Info info, int& result) {
  const bool is_native =
      view.representation != nullptr && std::strcmp(view.representation, "native") == 0;
  if (votes_ != nullptr || atomic_ || !is_native || !kept_.can_keep()) return false;
  result = refusal_of(view);
  known_ = {};
  if (result != MPI_SUCCESS) {
    kept_.keep_as_before();
    PMPI_File_call_errhandler(file_, result);
    return true;
  }
  const auto element = from_handle<MPI_Datatype>(view.element);
  const auto shown = from_handle<MPI_Datatype>(view.view);
  const Reason own = view_of(view.displacement, element, shown, view.representation);
  kept_.keep({view.displacement, element, shown, info}, own);
  pointer_.set(0);
  return true;
}

Reason TakenFile::unserved_here() const { return kept_.is_kept() ? kept_.own_reason() : unserved_; }

Reason TakenFile::unserved_by_any() { return kept_.is_kept() ? kept_.reason_of_all() : unserved_; }

void TakenFile::give_view() {
  if (!kept_.is_kept()) return;
  unserved_ = kept_.reason_of_all();
  kept_.give();
  pointer_.follow(file_);
}

bool TakenFile::give_alone(bool is_pending) {
  if (!kept_.is_kept()) return true;
  const MPI_File file = kept_.stand_in(is_pending);
  if (file == MPI_FILE_NULL) return false;
  pointer_.follow(file);
  return true;
}

MPI_File TakenFile::handle() {
  if (!kept_.is_kept()) return file_;
  const MPI_File found = kept_.stand_in(false);
  return found == MPI_FILE_NULL ? file_ : found;
}

std::optional<Moved> TakenFile::give(const Transfer& transfer) {
  if (transfer.way == Way::collective || transfer.way == Way::split) {
    give_view();
  } else if (!give_alone(transfer.way == Way::nonblocking)) {
    return failed_alone(MPI_ERR_IO);
  }
  if (transfer.from == From::own_pointer) pointer_.give();
  return std::nullopt;
}

void TakenFile::set_view(int result, Offset displacement, MPI_Datatype element, MPI_Datatype shown,
                         const char* representation) {
  known_ = {};
  if (result == MPI_SUCCESS) {
    kept_.note_set();
    pointer_ = takeover::OwnPointer(file_, votes_ != nullptr);
  }
  const Reason own = result == MPI_SUCCESS ? view_of(displacement, element, shown, representation)
                                           : Reason::arguments;
  unserved_ = static_cast<Reason>(
      voters().greatest(static_cast<int>(own), static_cast<int>(Reason::failed)));
  under_way_.reset();
}

Reason TakenFile::view_of(Offset displacement, MPI_Datatype element, MPI_Datatype shown,
                          const char* representation) {
  if (std::strcmp(representation, "native") != 0) return Reason::representation;
  const auto element_size = takeover::size_of(element);
  const auto size = takeover::size_of(shown);
  const auto tile = takeover::patterns_of(shown);
  view_ = size && tile ? array::ByteView::create(displacement, *tile, size->extent) : std::nullopt;
  note_spread();
  displacement_ = displacement;
  element_bytes_ = element_size ? element_size->bytes : 0;
  return view_ && element_bytes_ > 0 ? Reason::taken : Reason::irregular;
}

void TakenFile::set_atomicity(int result, bool is_atomic) {
  known_ = {};
  const bool own = result == MPI_SUCCESS ? is_atomic : atomic_;
  atomic_ = voters().greatest(own ? 1 : 0, 1) != 0;
}

bool TakenFile::seek(Offset offset, int from) {
  if (pointer_.is_kept() && from == MPI_SEEK_SET && offset >= 0) {
    pointer_.set(offset);
    return true;
  }
  if (from == MPI_SEEK_END) static_cast<void>(has_stored_all());  // it is told when that is lost
  if (give_alone(false)) pointer_.give();
  return false;
}

bool TakenFile::get_position(Offset* offset) {
  const auto at = offset != nullptr && pointer_.is_kept() ? pointer_.get() : std::nullopt;
  if (!at) return false;
  *offset = *at;
  return true;
}

bool TakenFile::get_position_shared(Offset* offset) {
  const auto at = offset != nullptr && kept_.is_kept() ? kept_.position() : std::nullopt;
  if (at) *offset = *at;
  return at.has_value();
}

// The elements of this rank follow those that others have moved so. Only the MPI library can carry
// out what Weir does not, and gets the place.
Moved TakenFile::move_at_shared(const Transfer& transfer) {
  Transfer placed = transfer;
  placed.from = From::offset;
  placed.offset = 0;
  Part own;
  const Reason found = find_range(placed, from_handle<MPI_Datatype>(transfer.datatype), own);
  const auto at = found == Reason::taken ? kept_.reserve(own.elements) : std::nullopt;
  if (!at) return failed_alone(found == Reason::taken ? MPI_ERR_IO : MPI_ERR_ARG);
  placed.offset = *at;
  const Moved moved = move_alone(placed, Short::is_told);
  if (moved.reason != Reason::taken && give_alone(transfer.way == Way::nonblocking)) {
    PMPI_File_seek_shared(handle(), *at, MPI_SEEK_SET);
  }
  return moved;
}

// Each rank reads the shared file pointer when all have come, and before any goes on, and it is
// moved when the bytes have been.
Moved TakenFile::move_ordered(const Transfer& transfer) {
  if (atomic_) return {Reason::atomic};
  if (!kept_.is_kept() && unserved_ != Reason::taken) return {unserved_};
  Transfer placed = transfer;
  placed.from = From::offset;
  placed.offset = 0;
  Part own;
  Reason found = unserved_here();
  if (found == Reason::taken) {
    found = find_range(placed, from_handle<MPI_Datatype>(transfer.datatype), own);
  }
  const std::array<std::int64_t, 1> elements{found == Reason::taken ? own.elements : -1};
  const auto of_all = group_.gathered(elements);
  if (of_all.empty()) return {Reason::failed};
  if (std::ranges::min(of_all) < 0) return {Reason::arguments};
  MPI_Offset at = 0;
  std::optional<std::int64_t> next;
  if (kept_.is_kept()) {
    next = kept_.position();
    at = next.value_or(0);
  } else if (PMPI_File_get_position_shared(file_, &at) == MPI_SUCCESS) {
    next = at;
  }
  for (int rank = 0; rank < group_.ranks(); ++rank) {
    if (rank == group_.rank()) placed.offset = next.value_or(-1);
    if (next) next = checked_add(*next, of_all[static_cast<std::size_t>(rank)]);
  }
  const Moved moved = move_together(placed);
  if (moved.reason != Reason::taken || !next) return moved;
  if (kept_.is_kept()) {
    kept_.advance(at, *next);
  } else {
    PMPI_File_seek_shared(file_, *next, MPI_SEEK_SET);
  }
  return moved;
}

}  // namespace weir::mpiio
