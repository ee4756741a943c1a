// Uses MPI_File_open, MPI_File_write_at_all and MPI_File_read_at_all.
#include <fmt/format.h>

#include <optional>
#include <utility>

#include "measurement/mpi_hints.hpp"
#include "measurement/mpi_transfer.hpp"
#include "workloads/open/shared_file.hpp"

namespace weir::bench::opening {
namespace {

class MpiSharedFile final : public SharedFile {
 public:
  explicit MpiSharedFile(const FileRequest& request) : request_(request) {}
  MpiSharedFile(const MpiSharedFile&) = delete;
  MpiSharedFile& operator=(const MpiSharedFile&) = delete;
  // A file that is still open after a failure stays open until the process ends, because closing is
  // collective.
  ~MpiSharedFile() override = default;

  Status create(const std::string& path) override {
    return open_with(path, MPI_MODE_CREATE | MPI_MODE_RDWR);
  }
  Status open(const std::string& path) override { return open_with(path, MPI_MODE_RDONLY); }

  Status write(const std::byte* piece) override {
    MPI_Status status;
    const int code = MPI_File_write_at_all(handle_, offset(), piece, count(), MPI_BYTE, &status);
    return outcome("MPI_File_write_at_all", code, status);
  }
  Status read(std::byte* piece) override {
    MPI_Status status;
    const int code = MPI_File_read_at_all(handle_, offset(), piece, count(), MPI_BYTE, &status);
    return outcome("MPI_File_read_at_all", code, status);
  }
  Status close() override {
    const int code = MPI_File_close(&handle_);
    return code == MPI_SUCCESS ? Status() : mpi_failure("MPI_File_close", path_, -1, code);
  }

  [[nodiscard]] std::vector<OwnName> own_names(const std::string& path) const override {
    return one_name(request_, path);
  }

 private:
  Status open_with(const std::string& path, int mode) {
    path_ = path;
    const auto hints = MpiHints::read("", request_.striping);
    if (!hints) return hints.error();
    const int code =
        MPI_File_open(request_.who.file, path.c_str(), mode, hints.value().info(), &handle_);
    return code == MPI_SUCCESS ? Status() : mpi_failure("MPI_File_open", path, -1, code);
  }
  [[nodiscard]] MPI_Offset offset() const { return request_.who.place * request_.options.bytes; }
  [[nodiscard]] int count() const { return static_cast<int>(request_.options.bytes); }

  Status outcome(const char* operation, int code, const MPI_Status& status) const {
    if (code != MPI_SUCCESS) return mpi_failure(operation, path_, offset(), code);
    int moved = 0;
    MPI_Get_count(&status, MPI_BYTE, &moved);
    if (moved == count()) return {};
    Error error = mpi_failure(operation, path_, offset(), MPI_ERR_IO);
    error.code = ErrorCode::short_transfer;
    error.message = fmt::format("{} moved {} of {} bytes", operation, moved, count());
    return error;
  }

  FileRequest request_;
  std::string path_;
  MPI_File handle_ = MPI_FILE_NULL;
};

}  // namespace

std::unique_ptr<SharedFile> make_mpi_file(const FileRequest& request) {
  return std::make_unique<MpiSharedFile>(request);
}

}  // namespace weir::bench::opening
