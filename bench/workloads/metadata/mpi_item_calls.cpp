#include "workloads/metadata/mpi_item_calls.hpp"

#include <algorithm>
#include <cerrno>

namespace weir::bench::metadata {
namespace {

constexpr Action possible[] = {Action::create, Action::open, Action::close, Action::truncate,
                               Action::unlink};

int error_of(int returned) {
  if (returned == MPI_SUCCESS) return 0;
  int error_class = MPI_ERR_OTHER;
  MPI_Error_class(returned, &error_class);
  switch (error_class) {
    case MPI_ERR_NO_SUCH_FILE:
      return ENOENT;
    case MPI_ERR_FILE_EXISTS:
      return EEXIST;
    case MPI_ERR_ACCESS:
      return EACCES;
    case MPI_ERR_NO_SPACE:
      return ENOSPC;
    case MPI_ERR_QUOTA:
      return EDQUOT;
    case MPI_ERR_READ_ONLY:
      return EROFS;
    case MPI_ERR_BAD_FILE:
      return EINVAL;
    default:
      return EIO;
  }
}

int opened(const char* path, int mode, MPI_File* file) {
  return error_of(MPI_File_open(MPI_COMM_SELF, path, mode, MPI_INFO_NULL, file));
}

}  // namespace

bool mpi_can(Action action) {
  return std::find(std::begin(possible), std::end(possible), action) != std::end(possible);
}

int MpiItemCalls::create(const char* path, bool exclusive) {
  MPI_File file = MPI_FILE_NULL;
  const int mode = MPI_MODE_WRONLY | MPI_MODE_CREATE | (exclusive ? MPI_MODE_EXCL : 0);
  if (const int error = opened(path, mode, &file); error != 0) return error;
  return close(&file);
}

int MpiItemCalls::open(const char* path, MPI_File* file) {
  return opened(path, MPI_MODE_RDONLY, file);
}

int MpiItemCalls::close(MPI_File* file) { return error_of(MPI_File_close(file)); }

int MpiItemCalls::remove(const char* path) {
  return error_of(MPI_File_delete(path, MPI_INFO_NULL));
}

int MpiItemCalls::truncate(const char* path, std::int64_t bytes) {
  MPI_File file = MPI_FILE_NULL;
  if (const int error = opened(path, MPI_MODE_WRONLY, &file); error != 0) return error;
  const int error = error_of(MPI_File_set_size(file, bytes));
  const int closing = close(&file);
  return error != 0 ? error : closing;
}

}  // namespace weir::bench::metadata
