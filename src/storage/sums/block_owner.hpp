// Finds the array, and the step of it, that has bytes of a file, for what is said of damaged
// blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/status.hpp"
#include "storage/formats/format.hpp"
#include "storage/sums/sum_book.hpp"

namespace weir::storage {

// What a data file of `path` is called in a SumBook; nothing when it lies elsewhere.
[[nodiscard]] std::optional<std::string> name_below(const std::string& path,
                                                    const std::string& data_file);

// Where all arrays of a file lie, to look up; making it takes time and memory for each
// chunk, of up to 2^20.
class BlockOwners {
 public:
  // The owners in the file at `path`; the map stays.
  BlockOwners(const FileMap& map, std::string path);

  // The error for a block that has another sum than the book has. `name` is the data file's below
  // the path.
  [[nodiscard]] Error differing_block(const std::string& name, const SumBook::Block& block,
                                      std::uint32_t sum) const;

 private:
  // A part of one array: contiguous bytes, or pieces at equal distances.
  struct Stretch {
    std::size_t name = 0;  // of the data file, hashed
    std::int64_t begin = 0;
    std::int64_t end = 0;
    std::size_t array = 0;
    std::int64_t file = 0;      // of the array's
    std::int64_t step = 0;      // the first in it
    std::int64_t distance = 0;  // from one step to the next
    std::int64_t row = 0;       // bytes of a step
  };

  struct Owned {
    std::size_t array = 0;
    std::int64_t first = 0;  // step
    std::int64_t last = 0;
  };

  void add(std::size_t array);
  void add(Stretch stretch);
  // As the error has it: "array "density", step 3".
  [[nodiscard]] std::string owner_of(const std::string& name, const SumBook::Block& block) const;
  [[nodiscard]] std::optional<Owned> owned(const Stretch& one, const std::string& name,
                                           const SumBook::Block& block) const;

  const FileMap& map_;
  std::string path_;
  std::vector<Stretch> pieces_;     // that have holes: one for each array in records
  bool knows_all_ = true;           // not those of more chunks than there is room for
  std::vector<Stretch> stretches_;  // ascending
};

}  // namespace weir::storage
