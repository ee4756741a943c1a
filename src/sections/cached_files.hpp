// The files of one stored array that one process reads or writes through a DataFileCache.
#pragma once

#include <cstdint>
#include <memory>

#include "checksums/block_sums.hpp"
#include "engines/data_file_cache.hpp"
#include "sections/file_copier.hpp"
#include "sections/section_verifier.hpp"
#include "stored/extent_map.hpp"

namespace weir::storage {

class CachedFiles final : public CopiedFiles {
 public:
  // All arguments must outlive the object. What is read is given to the verifier, and the checksums
  // of what is written are added to `sums`; both may be null.
  CachedFiles(const ExtentMap& map, DataFileCache& files, SectionVerifier* verifier,
              BlockSums* sums)
      : map_(map), files_(files), verifier_(verifier), sums_(sums) {}

  Result<bool> read(const StoredRange& range) override;
  Status write(const StoredRange& range) override;
  bool is_cold(std::int64_t file, std::int64_t offset) override;

 private:
  Status open_for_reading(std::int64_t file);

  const ExtentMap& map_;
  DataFileCache& files_;
  SectionVerifier* verifier_;
  BlockSums* sums_;
  // The file of the last transfer; most transfers use the same file as the one before.
  std::int64_t last_ = -1;
  std::shared_ptr<const File> open_;
};

}  // namespace weir::storage
