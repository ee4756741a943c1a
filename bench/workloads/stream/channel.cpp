#include "workloads/stream/channel.hpp"

#include <fmt/format.h>

#include "interfaces/library.hpp"

namespace weir::bench::stream {

Status check_available(Api api) {
  const std::string option = fmt::format("stream: -a {}", name_of(api));
  if (api == Api::hdf5) return check_library(Library::hdf5, option);
  if (api == Api::pnetcdf) return check_library(Library::pnetcdf, option);
  return api == Api::io_uring ? check_library(Library::liburing, option) : Status();
}

Result<std::unique_ptr<Channel>> open_channel(const ChannelRequest& request) {
  if (Status there = check_available(request.variant.api); !there) return there.error();
  switch (request.variant.api) {
    case Api::mpiio:
      return open_mpi_channel(request);
    case Api::hdf5:
      if constexpr (has_hdf5) return open_hdf5_channel(request);
      break;
    case Api::pnetcdf:
      if constexpr (has_pnetcdf) return open_pnetcdf_channel(request);
      break;
    case Api::posix:
    case Api::io_uring:
      break;
  }
  return open_posix_channel(request);
}

}  // namespace weir::bench::stream
