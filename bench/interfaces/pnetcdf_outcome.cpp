#include <fmt/format.h>
#include <pnetcdf.h>

#include <cerrno>

#include "interfaces/library.hpp"

namespace weir::bench {

Status pnetcdf_outcome(const char* operation, const std::string& path, int code,
                       std::int64_t offset) {
  if (code == NC_NOERR) return {};
  Error error(ErrorCode::io, fmt::format("{} failed: {}", operation, ncmpi_strerror(code)), path,
              offset);
  error.operation = operation;
  error.system_error = code == NC_ENO_SPACE ? ENOSPC : code == NC_EQUOTA ? EDQUOT : 0;
  return error;
}

}  // namespace weir::bench
