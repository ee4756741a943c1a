// The checksums of a file that one process writes with any number of threads. Each write computes
// the checksums of its data; adjacent parts are combined.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "checksums/block_sums.hpp"
#include "checksums/sum_book.hpp"
#include "common/status.hpp"
#include "engines/data_file_cache.hpp"
#include "stored/file_map.hpp"

namespace weir::storage {

class WrittenSums {
 public:
  explicit WrittenSums(std::size_t arrays);

  // Returns an object that collects the checksums of one write. It is passed to add() if the write
  // succeeds.
  [[nodiscard]] static BlockSums of_one_write();
  // Thread-safe.
  void add(std::int64_t array, const BlockSums& written);
  // Returns the checksums of the arrays of `map`, whose data files' names begin with `root`. Blocks
  // that were written twice or in very many parts are read again through `files`, the cache through
  // which they were written.
  [[nodiscard]] Result<std::vector<NamedRun>> runs(const FileMap& map, const std::string& root,
                                                   DataFileCache& files) const;

 private:
  std::mutex mutex_;
  std::vector<BlockSums> arrays_;
};

}  // namespace weir::storage
