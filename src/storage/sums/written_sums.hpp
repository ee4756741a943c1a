// The checksums of a file that one process makes, by as many threads as it likes: each write sums
// what it writes, and what fits together is put together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "common/status.hpp"
#include "storage/formats/format.hpp"
#include "storage/serial/data_file_cache.hpp"
#include "storage/sums/block_sums.hpp"
#include "storage/sums/sum_book.hpp"

namespace weir::storage {

class WrittenSums {
 public:
  explicit WrittenSums(std::size_t arrays);

  // For one write, given to add() when it has ended well.
  [[nodiscard]] static BlockSums of_one_write();
  // Safe for threads.
  void add(std::int64_t array, const BlockSums& written);
  // The checksums of the arrays of `map`, whose data files' names begin with `root`. What was
  // written twice or in very many parts is read again, by the cache through which it was written.
  [[nodiscard]] Result<std::vector<NamedRun>> runs(const FileMap& map, const std::string& root,
                                                   DataFileCache& files) const;

 private:
  std::mutex mutex_;
  std::vector<BlockSums> arrays_;
};

}  // namespace weir::storage
