// This file is built if liburing was not found.
#include "workloads/metadata/item_ring.hpp"

namespace weir::bench::metadata {

bool ring_can(Action /*action*/) { return true; }

Result<std::unique_ptr<ItemRing>> make_item_ring(int /*depth*/,
                                                 std::span<const Action> /*actions*/) {
  Error error;
  error.code = ErrorCode::unsupported;
  error.operation = "set-up of io_uring";
  error.message =
      "metadata: --api io_uring: Weir was built without liburing; use --api POSIX or AT";
  return error;
}

}  // namespace weir::bench::metadata
