// Verifies a whole file against its checksums, a part at a time: by as many threads as there are.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "common/status.hpp"
#include "storage/formats/format.hpp"
#include "storage/serial/data_file_cache.hpp"
#include "storage/sums/block_owner.hpp"
#include "storage/sums/known_sums.hpp"

namespace weir::storage {

class Verification {
 public:
  // By what is known; without checksums there is nothing to do.
  explicit Verification(std::shared_ptr<const KnownSums> known);

  // Parts to verify, of at most 8 MiB or one block, and their bytes.
  [[nodiscard]] std::int64_t parts() const { return static_cast<std::int64_t>(parts_.size()); }
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }
  // Reads a part and gives a line for each block that is not what it was, with array, step, file
  // and offset. Fails where the part cannot be read. Safe for threads with the same cache; the map
  // is that of the file, the same each time.
  [[nodiscard]] Result<std::vector<std::string>> verify(std::int64_t number, const FileMap& map,
                                                        DataFileCache& files);

 private:
  struct Part {
    std::int64_t file = 0;  // of the book
    std::int64_t begin = 0;
    std::int64_t end = 0;
  };

  std::shared_ptr<const KnownSums> known_;
  std::vector<Part> parts_;
  std::int64_t bytes_ = 0;
  std::once_flag looked_for_owners_;
  std::optional<BlockOwners> owners_;  // once a block was found damaged
};

}  // namespace weir::storage
