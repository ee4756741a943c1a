#include "workloads/open/shared_file.hpp"

namespace weir::bench::opening {

Result<std::unique_ptr<SharedFile>> make_shared_file(const FileRequest& request) {
  if (Status there = check_available(request.variant.api); !there) return there.error();
  switch (request.variant.api) {
    case Api::posix:
      return make_posix_file(request);
    case Api::mpiio:
      return make_mpi_file(request);
    case Api::hdf5:
      return make_hdf5_file(request);
    case Api::pnetcdf:
      return make_pnetcdf_file(request);
    case Api::weir:
      break;
  }
  return make_weir_file(request);
}

std::vector<OwnName> one_name(const FileRequest& request, const std::string& path) {
  if (request.who.place != 0) return {};
  return {{.path = path, .must_be = true, .bytes = request.who.places * request.options.bytes}};
}

}  // namespace weir::bench::opening
