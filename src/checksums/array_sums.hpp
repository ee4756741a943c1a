// Watches the transfers of one array: computes checksums of written data, and verifies data that is
// read against the known checksums of the file.
//
// A block is verified when this process has read all of it, in any number of parts. A block that is
// incomplete at the end of a request is completed by reading the rest if the rest is small, that
// is, if three quarters of the block were read. If the whole array was read, a few other blocks are
// completed, too, because aggregators share a block where their parts meet. The remaining
// incomplete blocks are verified only if Completing::all is given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "checksums/array_places.hpp"
#include "checksums/block_sums.hpp"
#include "checksums/known_sums.hpp"
#include "checksums/sum_book.hpp"
#include "common/status.hpp"
#include "stored/file_map.hpp"
#include "stored/stored_range.hpp"

namespace weir::storage {

class ArraySums {
 public:
  // `path` is the path of the file, with which the paths of its data files begin.
  explicit ArraySums(std::string path) : path_(std::move(path)) {}

  // Sets the array and the step of the following transfers; `step` is an index of dimension 0 of an
  // array that grows. The map must outlive this object, and this function must be called again
  // after the map has changed. It discards the checksums collected so far.
  void set_place(const ExtentMap& map, std::optional<std::int64_t> step);

  // Returns whether transfers are summed or verified. If not, the other functions do nothing.
  [[nodiscard]] bool is_watching() const { return watching_; }

  // ---- Writing ----

  // Start and stop the collection of checksums of written data. See BlockSums for `most_loose`.
  void collect(std::size_t most_loose);
  void collect_nothing() {
    written_.reset();
    watching_ = known_ != nullptr;
  }
  void set_turn(std::int64_t turn);
  // Returns the collected checksums, or null if none are collected.
  [[nodiscard]] const BlockSums* written() const { return written_ ? &*written_ : nullptr; }
  [[nodiscard]] const ArrayPlaces& places();

  // Called before a range is written.
  void writes(const StoredRange& range);

  // ---- Reading ----

  // Starts the verification of reads. `file` is the map of the whole file, which errors need; it
  // must outlive this object.
  void verify(std::shared_ptr<const KnownSums> known, const FileMap& file) {
    known_ = std::move(known);
    file_ = &file;
    numbers_.clear();
    watching_ = written_ || known_ != nullptr;
  }
  // Return the checksums by which transfers are verified and the map of their file, or null if
  // nothing is verified.
  [[nodiscard]] const std::shared_ptr<const KnownSums>& known() const { return known_; }
  [[nodiscard]] const FileMap* known_of() const { return file_; }
  // Called after a range was read. A failure of this function is a failure of the transfer.
  Status has_read(const StoredRange& range);
  // Reads the rest of a block: fills the slices of the range from a file of the array.
  using ReadMore = std::function<Status(const StoredRange& range)>;
  enum class Completing : std::uint8_t {
    nearly_whole,  // completes blocks of which three quarters were read
    of_whole,      // also completes a few others, because the whole array was requested
    all,           // completes all blocks
  };
  // Called when the request has ended on this process. Forgets all incomplete blocks.
  Status end_reading(Completing which, const ReadMore& read_more);
  // Returns the number of parts of incomplete blocks. It does not exceed `most_parts`; parts beyond
  // that are not verified.
  [[nodiscard]] std::size_t incomplete_parts() const { return parts_; }
  static constexpr std::size_t most_parts = 1 << 14;
  // Returns whether there are checksums of this file of the array.
  [[nodiscard]] bool knows(std::int64_t file) { return known_ && known_as(file) >= 0; }
  // Forgets all incomplete blocks after a request failed.
  void give_up_reading();

 private:
  struct Part {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    std::uint32_t sum = 0;
  };
  struct Incomplete {
    SumBook::Block block;
    std::vector<Part> parts;  // ascending, no two adjacent
  };

  // Returns the file's number in the book, or -1.
  std::int64_t known_as(std::int64_t file);
  // Verifies a range without discarded bytes, in the file with number `known` in the book.
  Status verify_kept(std::int64_t known, const StoredRange& range);
  Status read_part(std::int64_t file, const SumBook::Block& block, const Part& part);
  Status complete(std::int64_t file, const Incomplete& one, const ReadMore& read_more);
  [[nodiscard]] Status compare(std::int64_t known, const SumBook::Block& block,
                               std::uint32_t sum) const;

  bool watching_ = false;
  std::string path_;
  const ExtentMap* map_ = nullptr;
  std::optional<std::int64_t> step_;
  std::optional<ArrayPlaces> places_;  // computed on first use
  std::optional<BlockSums> written_;
  std::shared_ptr<const KnownSums> known_;
  const FileMap* file_ = nullptr;
  // Numbers in the book of the array's files.
  std::unordered_map<std::int64_t, std::int64_t> numbers_;
  std::map<std::pair<std::int64_t, std::int64_t>, Incomplete> incomplete_;  // by file and block
  std::size_t parts_ = 0;
  std::int64_t verified_ = 0;  // number of blocks verified in this request
  bool completing_ = false;
};

}  // namespace weir::storage
