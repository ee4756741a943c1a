#include "workloads/stream/channel.hpp"

#include <fmt/format.h>

#include "workloads/stream/available.hpp"

namespace weir::bench::stream {

Status check_available(Api api) {
  const auto absent = [api](const char* library, const char* package) {
    Error error = invalid_argument(
        fmt::format("stream: -a {}: this weir-bench was built without {}; install {} and build "
                    "again, or take another interface",
                    name_of(api), library, package));
    error.code = ErrorCode::unsupported;
    return error;
  };
  if (api == Api::hdf5 && !has_hdf5) return absent("parallel HDF5", "libhdf5-openmpi-dev");
  if (api == Api::pnetcdf && !has_pnetcdf) return absent("PnetCDF", "libpnetcdf-dev");
  if (api == Api::io_uring && !has_liburing) return absent("liburing", "liburing-dev");
  return {};
}

Result<std::unique_ptr<Channel>> open_channel(const ChannelRequest& request) {
  switch (request.variant.api) {
    case Api::mpiio:
      return open_mpi_channel(request);
    case Api::hdf5:
      return open_hdf5_channel(request);
    case Api::pnetcdf:
      return open_pnetcdf_channel(request);
    case Api::posix:
    case Api::io_uring:
      break;
  }
  return open_posix_channel(request);
}

}  // namespace weir::bench::stream
