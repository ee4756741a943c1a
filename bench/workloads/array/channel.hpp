// One rank's way to an array in a file, whichever interface it goes through. Opening, transfers,
// durability and closing are collective over the job.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "array/copy.hpp"
#include "common/status.hpp"
#include "measurement/job.hpp"
#include "storage/engines/transfer.hpp"
#include "workloads/array/parameters.hpp"

namespace weir::bench::array_io {

// What an interface keeps from one opening to the next, such as its plans.
class Kept {
 public:
  Kept() = default;
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;
  // After a failure the other ranks may be anywhere: nothing collective.
  virtual ~Kept() = default;
  // Collective.
  virtual Status close() = 0;
};

struct ChannelRequest {
  const Job& job;
  const Geometry& geometry;
  const Options& options;
  const storage::Striping& striping;  // of files that are made
  Api api = Api::mpiio;
  Part part;  // this rank's, of which the asked elements are moved
  // The asked elements as runs from memory to the file, where an interface moves those.
  const std::vector<array::StridedCopy>& runs;
  bool whole = false;  // the whole array, whatever the geometry asks for
  std::string path;
  // Where the array's files go in turn, `path` lying in the first; one: all beside it.
  const std::vector<std::string>& directories;
  bool write = false;
  bool create = false;  // the file anew, with `write`
  storage::Durability durability = storage::Durability::none;
  std::unique_ptr<Kept>* kept = nullptr;  // of the configuration; null until it keeps something
};

// Where the time of a transfer went on this rank, where an interface tells.
struct StageTimes {
  std::int64_t planning_ns = 0;
  std::int64_t gathering_ns = 0;
  std::int64_t storage_ns = 0;
  std::int64_t waiting_ns = 0;
  std::int64_t aggregators = 0;  // ranks that were to read and write files, of the whole job
};

class Channel {
 public:
  Channel() = default;
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;
  // After a failure the other ranks may be anywhere: nothing collective.
  virtual ~Channel() = default;

  // Moves the asked elements between the file and `memory`, the rank's part in row-major order.
  virtual Status write(const std::byte* memory) = 0;
  virtual Status read(std::byte* memory) = 0;
  // Makes durable what was written.
  virtual Status sync() = 0;
  virtual Status close() = 0;
  // The times of the last transfer's stages.
  [[nodiscard]] virtual std::optional<StageTimes> stages() const { return std::nullopt; }
};

// Opens by the interface. ErrorCode::unsupported where this build has no such library.
[[nodiscard]] Result<std::unique_ptr<Channel>> open_channel(const ChannelRequest& request);

// Whether this build has the library behind an interface; one line on what to do otherwise.
[[nodiscard]] Status check_available(Api api);

// The interfaces, each in a file of its own.
[[nodiscard]] Result<std::unique_ptr<Channel>> open_posix_channel(const ChannelRequest& request);
[[nodiscard]] Result<std::unique_ptr<Channel>> open_mpi_channel(const ChannelRequest& request);
[[nodiscard]] Result<std::unique_ptr<Channel>> open_hdf5_channel(const ChannelRequest& request);
[[nodiscard]] Result<std::unique_ptr<Channel>> open_pnetcdf_channel(const ChannelRequest& request);
[[nodiscard]] Result<std::unique_ptr<Channel>> open_weir_channel(const ChannelRequest& request);

}  // namespace weir::bench::array_io
