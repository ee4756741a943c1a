#include "workloads/metadata/mpi_item_calls.hpp"

#include <algorithm>
#include <cerrno>

#include "common/direction.hpp"
#include "workloads/metadata/item_calls.hpp"

namespace weir::bench::metadata {
namespace {

constexpr Action possible[] = {Action::create, Action::open,     Action::close, Action::write,
                               Action::read,   Action::truncate, Action::unlink};

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

// Returns the earlier error if there is one, otherwise that of closing.
int closed(MPI_File* file, int error) {
  const int closing = MpiItemCalls::close(file);
  return error != 0 ? error : closing;
}

// Moves all of the content, from the start of the file.
int moved(MPI_File file, Direction direction, const FileContent& content) {
  for (std::int64_t done = 0; done < content.bytes;) {
    const auto wanted = static_cast<int>(std::min(content.bytes - done, content.memory_bytes));
    MPI_Status status;
    const int error =
        error_of(direction == Direction::write
                     ? MPI_File_write_at(file, done, content.memory, wanted, MPI_BYTE, &status)
                     : MPI_File_read_at(file, done, content.memory, wanted, MPI_BYTE, &status));
    if (error != 0) return error;
    int count = 0;
    MPI_Get_count(&status, MPI_BYTE, &count);
    if (count != wanted) return short_transfer;
    done += wanted;
  }
  const bool syncs = direction == Direction::write && content.durable && content.bytes > 0;
  return syncs ? error_of(MPI_File_sync(file)) : 0;
}

int with_content(const char* path, int mode, Direction direction, const FileContent& content) {
  MPI_File file = MPI_FILE_NULL;
  if (const int error = opened(path, mode, &file); error != 0) return error;
  return closed(&file, moved(file, direction, content));
}

}  // namespace

bool mpi_can(Action action) {
  return std::find(std::begin(possible), std::end(possible), action) != std::end(possible);
}

int MpiItemCalls::create(const char* path, bool exclusive, const FileContent& content) {
  const int mode = MPI_MODE_WRONLY | MPI_MODE_CREATE | (exclusive ? MPI_MODE_EXCL : 0);
  return with_content(path, mode, Direction::write, content);
}

int MpiItemCalls::write(const char* path, const FileContent& content) {
  return with_content(path, MPI_MODE_WRONLY, Direction::write, content);
}

int MpiItemCalls::read(const char* path, const FileContent& content) {
  return with_content(path, MPI_MODE_RDONLY, Direction::read, content);
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
  return closed(&file, error_of(MPI_File_set_size(file, bytes)));
}

}  // namespace weir::bench::metadata
