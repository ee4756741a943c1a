// Stands in for uring_transfer.cpp where Weir is built without liburing.
#include "transfers/move.hpp"

namespace weir::storage {

Result<std::unique_ptr<Transfer>> make_uring_transfer(const File& file,
                                                      std::int64_t /*bytes_per_call*/) {
  return Error(ErrorCode::unsupported,
               "io_uring is not available: this program was built without liburing", file.path());
}

Result<std::unique_ptr<Transfer>> make_uring_transfer(const File& file) {
  return make_uring_transfer(file, largest_call);
}

}  // namespace weir::storage
