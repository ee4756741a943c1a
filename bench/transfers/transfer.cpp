#include "transfers/transfer.hpp"

namespace weir::storage {

// It is not an error if io_uring cannot be used; mechanism() reports which transfer was chosen.
std::unique_ptr<Transfer> make_background_transfer(const File& file) {
  if (auto uring = make_uring_transfer(file)) return std::move(uring).value();
  return make_thread_transfer(file);
}

}  // namespace weir::storage
