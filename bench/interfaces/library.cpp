#include "interfaces/library.hpp"

#include <fmt/format.h>

namespace weir::bench {

Status check_library(Library library, const std::string& option) {
  const auto needs = [&](bool has, const char* name, const char* package) -> Status {
    if (has) return {};
    return Error(
        ErrorCode::unsupported,
        fmt::format("{}: this weir-bench was built without {}; {} build again, or take another",
                    option, name, package));
  };
  switch (library) {
    case Library::hdf5:
      return needs(has_hdf5, "parallel HDF5", "install libhdf5-openmpi-dev and");
    case Library::liburing:
      return needs(has_liburing, "liburing", "install liburing-dev and");
    case Library::pnetcdf:
      return needs(has_pnetcdf, "PnetCDF", "install libpnetcdf-dev and");
    case Library::weir:
      break;
  }
  return needs(has_weir, "the library's array interface", "add that and");
}

}  // namespace weir::bench
