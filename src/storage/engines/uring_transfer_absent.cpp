// Stands in for uring_transfer.cpp where Weir is built without liburing.
#include "storage/engines/move.hpp"

namespace weir::storage {

Result<std::unique_ptr<Transfer>> make_uring_transfer(const File& file,
                                                      std::int64_t /*bytes_per_call*/) {
  Error error;
  error.code = ErrorCode::unsupported;
  error.message = "io_uring is not available: this program was built without liburing";
  error.file = file.path();
  return error;
}

Result<std::unique_ptr<Transfer>> make_uring_transfer(const File& file) {
  return make_uring_transfer(file, largest_call);
}

}  // namespace weir::storage
