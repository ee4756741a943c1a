// The known checksums of a file's bytes, for look-ups by data file and offset.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "checksums/block_sums.hpp"

namespace weir::storage {

// The name of a data file of PATH is the rest of its path after PATH: "" is PATH itself, "/x/c.0.1"
// is a chunk's file in a folder.
struct NamedRun {
  std::string file;
  std::int64_t offset = 0;
  std::int64_t bytes = 0;
  std::vector<std::uint32_t> sums;  // one for each block

  friend bool operator==(const NamedRun&, const NamedRun&) = default;
};

class SumBook {
 public:
  struct Block {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    std::uint32_t sum = 0;
  };

  explicit SumBook(std::int64_t block_bytes = sum_block_bytes) : block_bytes_(block_bytes) {}

  [[nodiscard]] std::int64_t block_bytes() const { return block_bytes_; }
  // Enters the checksums of a run. Returns false and changes nothing if a checksum of some of these
  // bytes is already known.
  [[nodiscard]] bool enter(NamedRun run);
  // Removes the checksums of these bytes and of all blocks that contain some of them.
  void forget(std::string_view file, std::int64_t begin, std::int64_t end);
  [[nodiscard]] bool empty() const { return files_.empty(); }

  // Returns the number of the file with this name, or -1 if none of its checksums are known.
  [[nodiscard]] std::int64_t number_of(std::string_view file) const;
  [[nodiscard]] std::int64_t files() const { return static_cast<std::int64_t>(files_.size()); }
  [[nodiscard]] const std::string& name_of(std::int64_t file) const {
    return files_[static_cast<std::size_t>(file)].name;
  }
  // Calls visit(block) in ascending order for each block that has a byte in common with the range,
  // until `visit` returns false.
  void for_each_block(std::int64_t file, std::int64_t begin, std::int64_t end,
                      const std::function<bool(const Block&)>& visit) const;
  // Returns the runs of all files; the runs of each file ascend.
  [[nodiscard]] std::vector<NamedRun> runs() const;

 private:
  struct Run {
    std::int64_t bytes = 0;
    std::vector<std::uint32_t> sums;
  };
  struct File {
    std::string name;
    std::map<std::int64_t, Run> runs;  // keyed by offset
  };

  std::int64_t block_bytes_;
  std::vector<File> files_;
  std::unordered_map<std::string, std::int64_t> numbers_;
};

}  // namespace weir::storage
