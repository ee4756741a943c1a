// One interface's access to a file that ranks share. Each rank has a piece of it; the pieces have
// equal length and the order of the ranks.
//
// Every call is collective over the ranks that share the file; those of Weir's library are
// collective over all participants. After a failure no further call is allowed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/status.hpp"
#include "system/striping.hpp"
#include "workloads/open/parameters.hpp"
#include "workloads/open/participants.hpp"

namespace weir::bench::opening {

// A name on the file system that a rank must remove.
struct OwnName {
  std::string path;
  bool must_be = true;     // it is an error if it is missing
  std::int64_t bytes = 0;  // minimum size of its content
};

class SharedFile {
 public:
  SharedFile() = default;
  SharedFile(const SharedFile&) = delete;
  SharedFile& operator=(const SharedFile&) = delete;
  // Does nothing collective, because after a failure the other ranks may be anywhere in the code.
  virtual ~SharedFile() = default;

  // Creates a new file and opens it for writing.
  virtual Status create(const std::string& path) = 0;
  // Opens the file for reading.
  virtual Status open(const std::string& path) = 0;
  virtual Status write(const std::byte* piece) = 0;
  virtual Status read(std::byte* piece) = 0;
  virtual Status close() = 0;

  // Returns the names at `path` that exist once the file is closed and that this rank must remove.
  [[nodiscard]] virtual std::vector<OwnName> own_names(const std::string& path) const = 0;
  // Call it after all repetitions.
  virtual Status finish() { return {}; }
};

struct FileRequest {
  const Participants& who;  // must outlive the file
  const Variant& variant;
  const Options& options;
  storage::Striping striping = {};  // of newly created files
  double deadline_seconds = 600;
  std::int64_t ranks_per_node = 0;  // as Weir's library counts them; 0: the ranks that share memory
};

// Fails with ErrorCode::unsupported if this build lacks the library.
[[nodiscard]] Result<std::unique_ptr<SharedFile>> make_shared_file(const FileRequest& request);

// The functions for the individual interfaces, each in its own file.
[[nodiscard]] std::unique_ptr<SharedFile> make_posix_file(const FileRequest& request);
[[nodiscard]] std::unique_ptr<SharedFile> make_mpi_file(const FileRequest& request);
[[nodiscard]] std::unique_ptr<SharedFile> make_hdf5_file(const FileRequest& request);
[[nodiscard]] std::unique_ptr<SharedFile> make_pnetcdf_file(const FileRequest& request);
[[nodiscard]] Result<std::unique_ptr<SharedFile>> make_weir_file(const FileRequest& request);

// Returns the names for an interface that creates one file, which its first rank removes.
[[nodiscard]] std::vector<OwnName> one_name(const FileRequest& request, const std::string& path);

}  // namespace weir::bench::opening
