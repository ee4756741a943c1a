// Moves data with MPI-IO behind the interface of the storage engines
// (transfers/transfer.hpp).
#pragma once

#include <mpi.h>

#include <memory>
#include <string>

#include "common/status.hpp"
#include "ranks/mpi_error.hpp"
#include "transfers/transfer.hpp"

namespace weir::bench {

// An open MPI file that closes itself. Opening and closing are collective over `communicator`.
class MpiFile {
 public:
  // Opens an existing file. With `create`, which requires `write`, a missing file is created.
  static Result<MpiFile> open(MPI_Comm communicator, const std::string& path, bool write,
                              bool create = false, MPI_Info hints = MPI_INFO_NULL);
  MpiFile(MpiFile&& other) noexcept;
  MpiFile& operator=(MpiFile&&) = delete;
  MpiFile(const MpiFile&) = delete;
  MpiFile& operator=(const MpiFile&) = delete;
  ~MpiFile();  // closes the file if it is still open and MPI is not finalized

  Status close();
  // Calls MPI_File_sync; collective.
  Status sync();
  [[nodiscard]] MPI_File handle() const { return handle_; }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  MpiFile(MPI_File handle, std::string path) : handle_(handle), path_(std::move(path)) {}
  MPI_File handle_ = MPI_FILE_NULL;
  std::string path_;
};

using ranks::mpi_failure;

// Calls the independent, blocking MPI_File_{read,write}_at inside start(). Durability is not part
// of the transfer: MPI_File_sync is collective, so the caller syncs when every rank has moved its
// bytes.
[[nodiscard]] std::unique_ptr<storage::Transfer> make_mpi_transfer(const MpiFile& file);

// Calls the independent, nonblocking MPI_File_i{read,write}_at, which advance when poll() is
// called. MPI has no nonblocking MPI_File_sync. The durable sync of a write is therefore an fsync
// by a thread on `descriptor`, a second, plain descriptor of the same file on this node.
[[nodiscard]] std::unique_ptr<storage::Transfer> make_mpi_background_transfer(
    const MpiFile& file, const storage::File& descriptor);

}  // namespace weir::bench
