// This file takes the place of munge.cpp where Weir is built without MUNGE.
#include "transport/munge.hpp"

namespace weir::transport {

Result<std::unique_ptr<Credentials>> open_munge() {
  return Error(ErrorCode::unsupported,
               "Weir was built without MUNGE (Debian: libmunge-dev; CMake: -D WEIR_WITH_MUNGE=ON)");
}

}  // namespace weir::transport
