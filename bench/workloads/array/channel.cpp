#include "workloads/array/channel.hpp"

#include <fmt/format.h>

#include "interfaces/library.hpp"

namespace weir::bench::array_io {

Status check_available(Api api) {
  const std::string option = fmt::format("array: --api {}", name_of(api));
  if (api == Api::hdf5) return check_library(Library::hdf5, option);
  if (api == Api::pnetcdf) return check_library(Library::pnetcdf, option);
  return is_weir(api) ? check_library(Library::weir, option) : Status();
}

Result<std::unique_ptr<Channel>> open_channel(const ChannelRequest& request) {
  if (Status there = check_available(request.api); !there) return there.error();
  switch (request.api) {
    case Api::weir:
    case Api::weir_hdf5:
    case Api::weir_cdf5:
    case Api::weir_zarr:
      if constexpr (has_weir) return open_weir_channel(request);
      break;
    case Api::hdf5:
      if constexpr (has_hdf5) return open_hdf5_channel(request);
      break;
    case Api::pnetcdf:
      if constexpr (has_pnetcdf) return open_pnetcdf_channel(request);
      break;
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
