// Finds the array and the step to which bytes of a file belong, for the errors about damaged
// blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "checksums/sum_book.hpp"
#include "common/status.hpp"
#include "stored/file_map.hpp"

namespace weir::storage {

// Returns the name of a data file of `path` in a SumBook, or nothing if the file does not lie below
// `path`.
[[nodiscard]] std::optional<std::string> name_below(const std::string& path,
                                                    const std::string& data_file);

// The places of all arrays of a file, for look-ups. Making them takes time and memory for each
// chunk, up to 2^20 chunks.
class BlockOwners {
 public:
  // Finds the owners in the file at `path`. The map must outlive this object.
  BlockOwners(const FileMap& map, std::string path);

  // Returns the error for a block whose checksum `sum` differs from that of the book. `name` is the
  // name of the data file below the path.
  [[nodiscard]] Error differing_block(const std::string& name, const SumBook::Block& block,
                                      std::uint32_t sum) const;

 private:
  // A part of one array: contiguous bytes, or pieces at equal distances.
  struct Stretch {
    std::size_t name = 0;  // hash of the data file's name
    std::int64_t begin = 0;
    std::int64_t end = 0;
    std::size_t array = 0;
    std::int64_t file = 0;      // number of the file in the array
    std::int64_t step = 0;      // first step
    std::int64_t distance = 0;  // bytes from one step to the next
    std::int64_t row = 0;       // bytes of a step
  };

  struct Owned {
    std::size_t array = 0;
    std::int64_t first = 0;  // step
    std::int64_t last = 0;
  };

  void add(std::size_t array);
  void add(Stretch stretch);
  // Returns the owner as text for the error, such as "array "density", step 3".
  [[nodiscard]] std::string owner_of(const std::string& name, const SumBook::Block& block) const;
  [[nodiscard]] std::optional<Owned> owned(const Stretch& one, const std::string& name,
                                           const SumBook::Block& block) const;

  const FileMap& map_;
  std::string path_;
  std::vector<Stretch> pieces_;     // stretches with holes: one for each array in records
  bool knows_all_ = true;           // false if there are too many chunks to keep
  std::vector<Stretch> stretches_;  // ascending
};

}  // namespace weir::storage
