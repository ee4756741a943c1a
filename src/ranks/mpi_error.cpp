#include "ranks/mpi_error.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <cerrno>

namespace weir::ranks {
namespace {

int errno_of(int code) {
  int error_class = MPI_ERR_OTHER;
  MPI_Error_class(code, &error_class);
  switch (error_class) {
    case MPI_ERR_NO_SPACE:
      return ENOSPC;
    case MPI_ERR_QUOTA:
      return EDQUOT;
    case MPI_ERR_ACCESS:
      return EACCES;
    case MPI_ERR_READ_ONLY:
      return EROFS;
    case MPI_ERR_NO_SUCH_FILE:
      return ENOENT;
    case MPI_ERR_IO:
      return EIO;
    default:
      return 0;  // unknown
  }
}

}  // namespace

std::string mpi_error_text(int code) {
  std::string text(MPI_MAX_ERROR_STRING, '\0');
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  text.resize(static_cast<std::size_t>(length));
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

Error mpi_failure(const char* operation, const std::string& file, std::int64_t offset, int code) {
  Error error = system_failure(operation, file, offset, errno_of(code));
  error.message = fmt::format("{} failed: {}", operation, mpi_error_text(code));
  return error;
}

}  // namespace weir::ranks
