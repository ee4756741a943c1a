// A build without that library: check_available() refuses it before anything is made.
#include "workloads/open/shared_file.hpp"

namespace weir::bench::opening {

Result<std::unique_ptr<SharedFile>> make_weir_file(const FileRequest& request) {
  return check_available(request.variant.api).error();
}

}  // namespace weir::bench::opening
