// Compares what one process reads of an array with the file's checksums (sums/known_sums.hpp).
#pragma once

#include <cstdint>
#include <memory>

#include "common/status.hpp"
#include "storage/engines/slices.hpp"
#include "storage/formats/format.hpp"
#include "storage/serial/data_file_cache.hpp"
#include "storage/sums/array_sums.hpp"
#include "storage/sums/known_sums.hpp"

namespace weir::storage {

enum class VerifiedBlocks : std::uint8_t {
  none,
  covered,  // those of which a read takes three quarters or more
  touched,  // all that it takes anything of: their rest is read, too
};

// Verifies one read of a section, by one thread. Array, file and cache outlive the verifier.
class SectionVerifier {
 public:
  SectionVerifier(const StoredArray& array, std::shared_ptr<const KnownSums> known,
                  const FileMap& file, DataFileCache& files, VerifiedBlocks which);

  // Bytes as they are in the array's file number `file`.
  Status has_read(std::int64_t file, std::int64_t offset, const Slice& slice);
  // Fails for a file that is missing and should be there.
  Status is_missing(std::int64_t file);
  // After the last of them.
  Status end();

 private:
  const ExtentMap& map_;
  DataFileCache& files_;
  VerifiedBlocks which_;
  ArraySums sums_;
};

}  // namespace weir::storage
