// Verifies a whole file against its checksums in parts, which any number of threads may verify.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "checksums/block_owner.hpp"
#include "checksums/known_sums.hpp"
#include "common/status.hpp"
#include "engines/data_file_cache.hpp"
#include "stored/file_map.hpp"

namespace weir::storage {

class Verification {
 public:
  // Verifies against `known`. If it has no checksums, there are no parts.
  explicit Verification(std::shared_ptr<const KnownSums> known);

  // Return the number of parts to verify, each of at most 8 MiB or one block, and their bytes.
  [[nodiscard]] std::int64_t parts() const { return static_cast<std::int64_t>(parts_.size()); }
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }
  // Reads a part and returns a line for each block that has changed, with array, step, file and
  // offset. Fails if the part cannot be read. Several threads may call this with the same cache.
  // `map` is the map of the file and is the same in each call.
  [[nodiscard]] Result<std::vector<std::string>> verify(std::int64_t number, const FileMap& map,
                                                        DataFileCache& files);

 private:
  struct Part {
    std::int64_t file = 0;  // number of the file in the book
    std::int64_t begin = 0;
    std::int64_t end = 0;
  };

  std::shared_ptr<const KnownSums> known_;
  std::vector<Part> parts_;
  std::int64_t bytes_ = 0;
  std::once_flag looked_for_owners_;
  std::optional<BlockOwners> owners_;  // made when the first damaged block is found
};

}  // namespace weir::storage
