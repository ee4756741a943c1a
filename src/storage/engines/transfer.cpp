#include "storage/engines/transfer.hpp"

namespace weir::storage {

// What keeps io_uring from being used is no failure of a run: mechanism() tells which one moves.
std::unique_ptr<Transfer> make_background_transfer(const File& file) {
  if (auto uring = make_uring_transfer(file)) return std::move(uring).value();
  return make_thread_transfer(file);
}

}  // namespace weir::storage
