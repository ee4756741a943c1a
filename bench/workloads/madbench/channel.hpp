// One rank's access to one data file during one function: it opens, reads, writes and closes the
// file.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "common/status.hpp"
#include "measurement/job.hpp"
#include "measurement/mpi_transfer.hpp"
#include "system/file.hpp"
#include "transfers/transfer.hpp"
#include "workloads/madbench/parameters.hpp"

namespace weir::bench::madbench {

struct ChannelOptions {
  Variant variant;
  bool write = false;
  bool direct = false;
};

class Channel {
 public:
  // Opens an existing file. Collective over the job when the variant is MPI and SHARED.
  static Result<Channel> open(const Job& job, const std::string& path,
                              const ChannelOptions& options);

  [[nodiscard]] storage::Transfer& reader() { return *reader_; }
  [[nodiscard]] storage::Transfer& writer() { return *writer_; }
  // Returns a plain descriptor of the same file, for the calls on the page cache.
  [[nodiscard]] const storage::File& observer() const { return *observer_; }
  // Returns whether data is made durable by a collective call after the transfers. MPI-IO in the
  // foreground does so.
  [[nodiscard]] bool syncs_separately() const;
  Status sync();
  Status close();

 private:
  Variant variant_;
  std::unique_ptr<storage::File> file_;  // the transfers hold references, so the address is fixed
  std::unique_ptr<MpiFile> mpi_file_;
  std::unique_ptr<storage::File> observer_;
  std::unique_ptr<storage::Transfer> reader_;
  std::unique_ptr<storage::Transfer> writer_;
};

}  // namespace weir::bench::madbench
