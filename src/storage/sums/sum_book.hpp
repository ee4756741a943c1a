// The checksums that are known of a file's bytes, to look up: by data file and offset.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "storage/sums/block_sums.hpp"

namespace weir::storage {

// A data file of PATH is called by what its path has after PATH: "" is PATH itself, "/x/c.0.1" a
// chunk's file in a folder.
struct NamedRun {
  std::string file;
  std::int64_t offset = 0;
  std::int64_t bytes = 0;
  std::vector<std::uint32_t> sums;  // of its blocks

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
  // False when something is known of these bytes already; nothing is changed then.
  [[nodiscard]] bool enter(NamedRun run);
  // What is known of these bytes, and of blocks that reach into them.
  void forget(std::string_view file, std::int64_t begin, std::int64_t end);
  [[nodiscard]] bool empty() const { return files_.empty(); }

  // -1 when nothing is known of a file of this name.
  [[nodiscard]] std::int64_t number_of(std::string_view file) const;
  [[nodiscard]] std::int64_t files() const { return static_cast<std::int64_t>(files_.size()); }
  [[nodiscard]] const std::string& name_of(std::int64_t file) const {
    return files_[static_cast<std::size_t>(file)].name;
  }
  // The blocks that have a byte in common with the range, ascending. Stops when `visit` returns
  // false.
  void for_each_block(std::int64_t file, std::int64_t begin, std::int64_t end,
                      const std::function<bool(const Block&)>& visit) const;
  // The runs of all files, ascending in each.
  [[nodiscard]] std::vector<NamedRun> runs() const;

 private:
  struct Run {
    std::int64_t bytes = 0;
    std::vector<std::uint32_t> sums;
  };
  struct File {
    std::string name;
    std::map<std::int64_t, Run> runs;  // by offset
  };

  std::int64_t block_bytes_;
  std::vector<File> files_;
  std::unordered_map<std::string, std::int64_t> numbers_;
};

}  // namespace weir::storage
