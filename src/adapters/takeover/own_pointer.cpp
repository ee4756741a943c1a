#include "adapters/takeover/own_pointer.hpp"

namespace weir::takeover {

std::optional<MPI_Offset> OwnPointer::asked() {
  MPI_Offset at = 0;
  if (PMPI_File_get_position(file_, &at) != MPI_SUCCESS) return std::nullopt;
  if (is_kept_) at_ = at;
  return at;
}

void OwnPointer::move(MPI_Offset at) { PMPI_File_seek(file_, at, MPI_SEEK_SET); }

void OwnPointer::reset() {
  at_.reset();
  is_ahead_ = false;
}

void OwnPointer::give() {
  if (is_ahead_) move(*at_);
  reset();
}

void OwnPointer::follow(MPI_File file) {
  if (file == file_) return;
  const auto at = get();
  file_ = file;
  if (at) set(*at);
}

}  // namespace weir::takeover
