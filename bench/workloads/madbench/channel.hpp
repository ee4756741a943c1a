// One rank's access to one data file during one function: it opens, reads, writes and closes the
// file.
#pragma once

#include <memory>
#include <string>

#include "common/status.hpp"
#include "engines/engine.hpp"
#include "measurement/job.hpp"
#include "system/file.hpp"
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

  [[nodiscard]] storage::Engine& engine() { return *engine_; }
  [[nodiscard]] storage::EngineFile& file() { return *file_; }
  // Returns a plain descriptor of the same file, for the calls on the page cache.
  [[nodiscard]] const storage::File& observer() const { return *observer_; }
  // Returns whether data is made durable by a collective call after the transfers. MPI-IO in the
  // foreground does so.
  [[nodiscard]] bool syncs_separately() const;
  Status sync();
  Status close();

 private:
  Variant variant_;
  std::unique_ptr<storage::File> observer_;
  std::unique_ptr<storage::EngineFile> file_;
  std::unique_ptr<storage::Engine> engine_;  // ends first: it may still move bytes of the file
};

}  // namespace weir::bench::madbench
