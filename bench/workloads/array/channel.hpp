// One rank's access to an array in a file, through any interface. Opening, transfers, durability
// and closing are collective over the job.
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
#include "transfers/transfer.hpp"
#include "workloads/array/parameters.hpp"

namespace weir::bench::array_io {

// The state that an interface keeps from one opening to the next, such as its plans.
class Kept {
 public:
  Kept() = default;
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;
  // The destructor does nothing collective: after a failure the other ranks may be anywhere in the
  // code.
  virtual ~Kept() = default;
  // Collective.
  virtual Status close() = 0;
};

struct ChannelRequest {
  const Job& job;
  const Geometry& geometry;
  const Options& options;
  const storage::Striping& striping;  // of newly created files
  Api api = Api::mpiio;
  // This rank's part; its selected elements are moved.
  Part part;
  // The selected elements as runs from memory to the file, for interfaces that move runs.
  const std::vector<array::StridedCopy>& runs;
  bool whole = false;  // the request is for the whole array, whatever the geometry selects
  std::string path;
  // The directories to which the array's files are distributed round-robin; `path` lies in the
  // first. If there is only one, all files lie beside `path`.
  const std::vector<std::string>& directories;
  bool write = false;
  bool create = false;  // creates a new file; with `write` only
  storage::Durability durability = storage::Durability::none;
  std::unique_ptr<Kept>* kept = nullptr;  // of the configuration; null until something is kept
};

// The time that the stages of a transfer took on this rank, for interfaces that report it.
struct StageTimes {
  std::int64_t planning_ns = 0;
  std::int64_t gathering_ns = 0;
  std::int64_t storage_ns = 0;
  std::int64_t waiting_ns = 0;
  std::int64_t aggregators = 0;  // ranks of the whole job that were to read and write files
};

class Channel {
 public:
  Channel() = default;
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;
  // The destructor does nothing collective: after a failure the other ranks may be anywhere in the
  // code.
  virtual ~Channel() = default;

  // Moves the selected elements between the file and `memory`, the rank's part in row-major order.
  virtual Status write(const std::byte* memory) = 0;
  virtual Status read(std::byte* memory) = 0;
  // Makes the written data durable.
  virtual Status sync() = 0;
  virtual Status close() = 0;
  // Returns the times of the last transfer's stages.
  [[nodiscard]] virtual std::optional<StageTimes> stages() const { return std::nullopt; }
};

// Opens the array through the interface. Fails with ErrorCode::unsupported if this build lacks the
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
[[nodiscard]] Result<std::unique_ptr<Channel>> open_weir_channel(const ChannelRequest& request);

}  // namespace weir::bench::array_io
