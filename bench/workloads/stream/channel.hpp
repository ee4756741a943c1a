// One rank's access to one file during one phase, through any interface: it opens the file, moves
// data transfer by transfer, makes it durable and closes the file. Opening, durability and closing
// are collective over the file's ranks if the interface is; moving is collective if the variant is.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "common/status.hpp"
#include "measurement/job.hpp"
#include "transfers/queue.hpp"
#include "transfers/transfer.hpp"
#include "workloads/stream/parameters.hpp"

namespace weir::bench::stream {

struct ChannelRequest {
  const Job& job;
  const Variant& variant;
  const Options& options;
  const storage::Striping& striping;  // of newly created files
  Layout layout;
  std::string path;
  std::int64_t owner = 0;  // the rank whose data this rank handles
  bool write = false;
  bool direct = false;
  storage::Durability durability = storage::Durability::none;

  // Returns the ranks that share the file.
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

  // Moves one transfer and returns when the buffer may be reused. `index` is the transfer's
  // position in the owner's data; request.offset is its offset in the file.
  virtual Status move(const storage::TransferRequest& request, std::int64_t index) = 0;
  // Returns the queue that replaces move() if several transfers are kept in flight, otherwise null.
  virtual storage::TransferQueue* queue() { return nullptr; }
  // Makes durable what this rank wrote.
  virtual Status sync() = 0;
  virtual Status close() = 0;
};

// Opens through the variant's interface. Fails with ErrorCode::unsupported if this build lacks the
// library.
[[nodiscard]] Result<std::unique_ptr<Channel>> open_channel(const ChannelRequest& request);

// Fails if this build lacks the library behind an interface, with one line that says how to
// proceed.
[[nodiscard]] Status check_available(Api api);

// The functions for the individual interfaces, each in its own file.
[[nodiscard]] Result<std::unique_ptr<Channel>> open_posix_channel(const ChannelRequest& request);
[[nodiscard]] Result<std::unique_ptr<Channel>> open_mpi_channel(const ChannelRequest& request);
[[nodiscard]] Result<std::unique_ptr<Channel>> open_hdf5_channel(const ChannelRequest& request);
[[nodiscard]] Result<std::unique_ptr<Channel>> open_pnetcdf_channel(const ChannelRequest& request);

}  // namespace weir::bench::stream
