// Verifies a whole file against its checksums, a part at a time: by as many threads as there are.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/status.hpp"
#include "storage/formats/format.hpp"
#include "storage/serial/data_file_cache.hpp"
#include "storage/sums/sum_book.hpp"

namespace weir::storage {

class Verification {
 public:
  // Of the file at `path`, which has this map, by PATH.sums: without one there is nothing to do.
  static Result<Verification> of(const std::string& path, const FileMap& map);

  // Parts to verify, of at most 8 MiB or one block, and their bytes.
  [[nodiscard]] std::int64_t parts() const { return static_cast<std::int64_t>(parts_.size()); }
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }
  // What is wrong with PATH.sums itself: a line, "" for nothing.
  [[nodiscard]] const std::string& damage() const { return damage_; }
  // Reads a part and gives a line for each block that is not what it was, with array, step, file
  // and offset. Fails where the part cannot be read. Safe for threads with the same cache.
  [[nodiscard]] Result<std::vector<std::string>> verify(std::int64_t number, const FileMap& map,
                                                        DataFileCache& files) const;

 private:
  struct Part {
    std::int64_t file = 0;  // of the book
    std::int64_t begin = 0;
    std::int64_t end = 0;
  };

  std::string path_;
  std::string damage_;
  SumBook book_;
  std::vector<Part> parts_;
  std::int64_t bytes_ = 0;
};

}  // namespace weir::storage
