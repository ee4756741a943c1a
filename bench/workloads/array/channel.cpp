#include "workloads/array/channel.hpp"

#include <fmt/format.h>

#include "workloads/array/available.hpp"

namespace weir::bench::array_io {

Status check_available(Api api) {
  const auto absent = [api](const char* library, const char* what_to_do) {
    Error error = invalid_argument(
        fmt::format("array: --api {}: this weir-bench was built without {}; {}, or take another",
                    name_of(api), library, what_to_do));
    error.code = ErrorCode::unsupported;
    return error;
  };
  if (api == Api::hdf5 && !has_hdf5) {
    return absent("parallel HDF5", "install libhdf5-openmpi-dev and build again");
  }
  if (api == Api::pnetcdf && !has_pnetcdf) {
    return absent("PnetCDF", "install libpnetcdf-dev and build again");
  }
  if (is_weir(api) && !has_weir) {
    return absent("the library's array interface", "build one that has it");
  }
  return {};
}

Result<std::unique_ptr<Channel>> open_channel(const ChannelRequest& request) {
  switch (request.api) {
    case Api::weir:
    case Api::weir_hdf5:
    case Api::weir_cdf5:
    case Api::weir_zarr:
      return open_weir_channel(request);
    case Api::hdf5:
      return open_hdf5_channel(request);
    case Api::pnetcdf:
      return open_pnetcdf_channel(request);
    case Api::posix:
    case Api::contiguous:
      return open_posix_channel(request);
    case Api::mpiio:
    case Api::mpiio_independent:
      break;
  }
  return open_mpi_channel(request);
}

}  // namespace weir::bench::array_io
