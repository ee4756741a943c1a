// The io_uring queue of a build without liburing.
#include "transfers/queue.hpp"

namespace weir::storage {

Result<std::unique_ptr<TransferQueue>> make_uring_queue(const File& file, int /*depth*/) {
  Error error;
  error.code = ErrorCode::unsupported;
  error.operation = "set-up of io_uring";
  error.file = file.path();
  error.message = "this weir-bench was built without liburing: install it and build again";
  return error;
}

}  // namespace weir::storage
