#include "formats/hdf5/library.hpp"

#include <fmt/format.h>

#include "stored/file_description.hpp"

namespace weir::storage {
namespace {

extern "C" herr_t weir_hdf5_first_cause(unsigned number, const H5E_error2_t* error, void* text) {
  if (number == 0 && error->desc != nullptr) *static_cast<std::string*>(text) = error->desc;
  return 0;
}

}  // namespace

Error hdf5_failure(std::string_view what, const std::string& path, ErrorCode code) {
  std::string cause;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, weir_hdf5_first_cause, &cause);
  Error error;
  error.code = code;
  error.operation = what;
  error.file = path;
  error.message = fmt::format("HDF5 cannot {}: {}", what,
                              cause.empty() ? "it gives no reason" : printable(cause));
  return error;
}

Hdf5Handle hdf5_access() {
  Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS));
  H5Pset_libver_bounds(access.id(), H5F_LIBVER_V110, H5F_LIBVER_V110);
  H5Pset_fclose_degree(access.id(), H5F_CLOSE_STRONG);
  return access;
}

}  // namespace weir::storage
