// Verifies the bytes that one process reads of an array against the file's checksums
// (sums/known_sums.hpp).
#pragma once

#include <cstdint>
#include <memory>

#include "checksums/array_sums.hpp"
#include "checksums/known_sums.hpp"
#include "common/status.hpp"
#include "engines/data_file_cache.hpp"
#include "stored/file_map.hpp"
#include "stored/stored_range.hpp"

namespace weir::storage {

enum class VerifiedBlocks : std::uint8_t {
  none,
  covered,  // blocks of which a read contains three quarters or more
  touched,  // all blocks of which a read contains a part; their rest is read, too
};

// Verifies one read of a section, in one thread. The array, the map of the file and the cache must
// outlive the verifier.
class SectionVerifier {
 public:
  SectionVerifier(const StoredArray& array, std::shared_ptr<const KnownSums> known,
                  const FileMap& file, DataFileCache& files, VerifiedBlocks which);

  // Verifies bytes that were read, as they are in a file of the array.
  Status has_read(const StoredRange& range);
  // Fails if the missing file number `file` should exist.
  Status is_missing(std::int64_t file);
  // Called after the last has_read().
  Status end();

 private:
  const ExtentMap& map_;
  DataFileCache& files_;
  VerifiedBlocks which_;
  ArraySums sums_;
};

}  // namespace weir::storage
