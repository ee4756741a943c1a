// One rank's way to one file during one phase, whichever interface it goes through: opened, moved
// through transfer by transfer, made durable, closed. Opening, durability and closing are
// collective over the file's ranks where the interface is; moving is where the variant is
// collective.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "common/status.hpp"
#include "measurement/job.hpp"
#include "storage/engines/queue.hpp"
#include "storage/engines/transfer.hpp"
#include "workloads/stream/parameters.hpp"

namespace weir::bench::stream {

struct ChannelRequest {
  const Job& job;
  const Variant& variant;
  const Options& options;
  const storage::Striping& striping;  // of files that are made
  Layout layout;
  std::string path;
  std::int64_t owner = 0;  // whose data this rank handles
  bool write = false;
  bool direct = false;
  storage::Durability durability = storage::Durability::none;

  // The ranks that share the file.
  [[nodiscard]] MPI_Comm communicator() const {
    return variant.file_per_rank ? MPI_COMM_SELF : job.world;
  }
  [[nodiscard]] bool creates() const { return write && !options.use_existing; }
};

class Channel {
 public:
  Channel() = default;
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;
  virtual ~Channel() = default;

  // Moves one transfer and returns when the buffer may be used again. `index` is the transfer's
  // place among the owner's data, request.offset its place in the file.
  virtual Status move(const storage::TransferRequest& request, std::int64_t index) = 0;
  // The queue that is used in place of move() where several transfers are kept in flight; null
  // otherwise.
  virtual storage::TransferQueue* queue() { return nullptr; }
  // Makes durable what this rank wrote.
  virtual Status sync() = 0;
  virtual Status close() = 0;
};

// Opens by the variant's interface. ErrorCode::unsupported where this build has no such library.
[[nodiscard]] Result<std::unique_ptr<Channel>> open_channel(const ChannelRequest& request);

// Whether this build has the library behind an interface; one line on what to do otherwise.
[[nodiscard]] Status check_available(Api api);

// The interfaces, each in a file of its own.
[[nodiscard]] Result<std::unique_ptr<Channel>> open_posix_channel(const ChannelRequest& request);
[[nodiscard]] Result<std::unique_ptr<Channel>> open_mpi_channel(const ChannelRequest& request);
[[nodiscard]] Result<std::unique_ptr<Channel>> open_hdf5_channel(const ChannelRequest& request);
[[nodiscard]] Result<std::unique_ptr<Channel>> open_pnetcdf_channel(const ChannelRequest& request);

}  // namespace weir::bench::stream
