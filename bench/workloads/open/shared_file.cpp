#include "workloads/open/shared_file.hpp"

#include "interfaces/library.hpp"

namespace weir::bench::opening {

Result<std::unique_ptr<SharedFile>> make_shared_file(const FileRequest& request) {
  if (Status there = check_available(request.variant.api); !there) return there.error();
  switch (request.variant.api) {
    case Api::mpiio:
      return make_mpi_file(request);
    case Api::hdf5:
      if constexpr (has_hdf5) return make_hdf5_file(request);
      break;
    case Api::pnetcdf:
      if constexpr (has_pnetcdf) return make_pnetcdf_file(request);
      break;
    case Api::weir:
      if constexpr (has_weir) return make_weir_file(request);
      break;
    case Api::posix:
      break;
  }
  return make_posix_file(request);
}

std::vector<OwnName> one_name(const FileRequest& request, const std::string& path) {
  if (request.who.place != 0) return {};
  return {{.path = path, .must_be = true, .bytes = request.who.places * request.options.bytes}};
}

}  // namespace weir::bench::opening
