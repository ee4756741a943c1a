// The io_uring engine of a build without liburing.
#include "engines/engine.hpp"

namespace weir::storage {

Result<std::unique_ptr<Engine>> make_uring_engine(const EngineLimits& /*limits*/) {
  Error error;
  error.code = ErrorCode::unsupported;
  error.operation = "set-up of io_uring";
  error.message = "Weir was built without liburing: install it and build again, or take posix";
  return error;
}

}  // namespace weir::storage
