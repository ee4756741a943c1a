// One interface's way to a file that ranks share. Each rank has a piece of it, all equally long, in
// the order of the ranks.
//
// Every call is collective over the ranks that share the file; of the library's over all that take
// part. After a failure nothing more may be called.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/status.hpp"
#include "storage/striping.hpp"
#include "workloads/open/parameters.hpp"
#include "workloads/open/participants.hpp"

namespace weir::bench::opening {

// A name on the file system that a rank is to remove.
struct OwnName {
  std::string path;
  bool must_be = true;     // it is an error when it is missing
  std::int64_t bytes = 0;  // what it holds at least
};

class SharedFile {
 public:
  SharedFile() = default;
  SharedFile(const SharedFile&) = delete;
  SharedFile& operator=(const SharedFile&) = delete;
  // Does nothing collective: after a failure other ranks may be anywhere.
  virtual ~SharedFile() = default;

  // The file is new, and open for writing.
  virtual Status create(const std::string& path) = 0;
  // For reading.
  virtual Status open(const std::string& path) = 0;
  virtual Status write(const std::byte* piece) = 0;
  virtual Status read(std::byte* piece) = 0;
  virtual Status close() = 0;

  // What is there at `path` once the file is closed, as far as this rank is to remove it.
  [[nodiscard]] virtual std::vector<OwnName> own_names(const std::string& path) const = 0;
  // At the end of all.
  virtual Status finish() { return {}; }
};

struct FileRequest {
  const Participants& who;  // outlives the file
  const Variant& variant;
  const Options& options;
  storage::Striping striping = {};  // of files that are made
  double deadline_seconds = 600;
  std::int64_t ranks_per_node = 0;  // as the library takes them; 0: those that share memory
};

// ErrorCode::unsupported where this build has no such library.
[[nodiscard]] Result<std::unique_ptr<SharedFile>> make_shared_file(const FileRequest& request);

// The interfaces, each in a file of its own.
[[nodiscard]] std::unique_ptr<SharedFile> make_posix_file(const FileRequest& request);
[[nodiscard]] std::unique_ptr<SharedFile> make_mpi_file(const FileRequest& request);
[[nodiscard]] std::unique_ptr<SharedFile> make_hdf5_file(const FileRequest& request);
[[nodiscard]] std::unique_ptr<SharedFile> make_pnetcdf_file(const FileRequest& request);
[[nodiscard]] Result<std::unique_ptr<SharedFile>> make_weir_file(const FileRequest& request);

// The names of an interface that makes one file, which its first rank removes.
[[nodiscard]] std::vector<OwnName> one_name(const FileRequest& request, const std::string& path);

}  // namespace weir::bench::opening
