#include "adapters/takeover/refused.hpp"

#include <mpi.h>

#include <cerrno>

namespace weir::takeover {

using mpiio::Reason;

int class_of(int system_error) {
  switch (system_error) {
    case ENOSPC:
      return MPI_ERR_NO_SPACE;
    case EDQUOT:
      return MPI_ERR_QUOTA;
    case EROFS:
      return MPI_ERR_READ_ONLY;
    case EACCES:
    case EPERM:
      return MPI_ERR_ACCESS;
    default:
      return MPI_ERR_IO;
  }
}

int class_of(const Error& error) { return class_of(error.system_error); }

mpiio::Moved outcome_of(const Error& error) {
  if (error.code == ErrorCode::invalid_argument) return {Reason::overlap};
  const bool is_transfer = error.operation == "write" || error.operation == "read";
  const bool is_refused = error.code == ErrorCode::io && is_transfer && error.system_error != 0;
  if (!is_refused) return {Reason::failed};
  return {Reason::taken, class_of(error)};
}

}  // namespace weir::takeover
