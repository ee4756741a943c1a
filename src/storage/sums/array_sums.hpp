// Watches the transfers of one array: sums what is written, and verifies what is read against what
// is known of the file.
//
// Reading, a block is verified when this process has read all of it, in as many parts as it takes.
// Blocks that are incomplete at the end of a request are completed, by reading the rest, where that
// is little: where three quarters are there and, of an array that was read whole, a few, as
// aggregators share a block where their parts meet. Others are not verified, unless
// all that was touched is to be.
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

#include "common/status.hpp"
#include "storage/formats/format.hpp"
#include "storage/sums/array_places.hpp"
#include "storage/sums/block_sums.hpp"
#include "storage/sums/known_sums.hpp"
#include "storage/sums/sum_book.hpp"
#include "storage/transfer_watch.hpp"

namespace weir::storage {

class ArraySums final : public TransferWatch {
 public:
  // `path`: of the file, as its data files' paths begin.
  explicit ArraySums(std::string path) : path_(std::move(path)) {}

  // What transfers are of: `step` is one of dimension 0 of an array that grows. The map stays where
  // it is, and this is called again when it has changed. What was collected is forgotten.
  void set_place(const ExtentMap& map, std::optional<std::int64_t> step);

  // Whether transfers are summed or verified; if not, the rest does nothing.
  [[nodiscard]] bool is_watching() const override { return watching_; }

  // ---- Writing ----

  // Sums what is written from now on, or no more. See BlockSums for `most_loose`.
  void collect(std::size_t most_loose);
  void collect_nothing() {
    written_.reset();
    watching_ = known_ != nullptr;
  }
  void set_turn(std::int64_t turn);
  // Null: nothing is collected.
  [[nodiscard]] const BlockSums* written() const { return written_ ? &*written_ : nullptr; }
  [[nodiscard]] const ArrayPlaces& places();

  void writes(const StoredRange& range) override;

  // ---- Reading ----

  // Has reads verified; without this call none is. `file` is the whole file, for errors, and stays.
  void verify(std::shared_ptr<const KnownSums> known, const FileMap& file) {
    known_ = std::move(known);
    file_ = &file;
    numbers_.clear();
    watching_ = written_ || known_ != nullptr;
  }
  // What transfers are verified by, and all that is in its file; null: nothing is verified.
  [[nodiscard]] const std::shared_ptr<const KnownSums>& known() const { return known_; }
  [[nodiscard]] const FileMap* known_of() const { return file_; }
  Status has_read(const StoredRange& range) override;
  // Reads the rest of a block: fills the bytes at an offset of a file of the array.
  using ReadMore = std::function<Status(const StoredRange& range)>;
  enum class Completing : std::uint8_t {
    nearly_whole,  // blocks of which three quarters were read
    of_whole,      // and a few more, where all of the array was asked for
    all,
  };
  // When the request has ended on this process. Blocks that it begins again afterwards are others.
  Status end_reading(Completing which, const ReadMore& read_more);
  // Parts of blocks that are incomplete up to now. Not beyond `most_parts`: what is read of more
  // blocks then is not verified.
  [[nodiscard]] std::size_t incomplete_parts() const { return parts_; }
  static constexpr std::size_t most_parts = 1 << 14;
  // Whether something is known of this file of the array.
  [[nodiscard]] bool knows(std::int64_t file) { return known_ && known_as(file) >= 0; }
  // Ends the reading of a request that failed.
  void give_up_reading();

 private:
  struct Part {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    std::uint32_t sum = 0;
  };
  struct Incomplete {
    SumBook::Block block;
    std::vector<Part> parts;  // ascending, none touches another
  };

  // The file's number in the book, or -1.
  std::int64_t known_as(std::int64_t file);
  // A range of which nothing was discarded, of a file that the book knows as `known`.
  Status verify_kept(std::int64_t known, const StoredRange& range);
  Status read_part(std::int64_t file, const SumBook::Block& block, const Part& part);
  Status complete(std::int64_t file, const Incomplete& one, const ReadMore& read_more);
  [[nodiscard]] Status compare(std::int64_t known, const SumBook::Block& block,
                               std::uint32_t sum) const;

  bool watching_ = false;
  std::string path_;
  const ExtentMap* map_ = nullptr;
  std::optional<std::int64_t> step_;
  std::optional<ArrayPlaces> places_;  // once they were needed
  std::optional<BlockSums> written_;
  std::shared_ptr<const KnownSums> known_;
  const FileMap* file_ = nullptr;
  std::unordered_map<std::int64_t, std::int64_t> numbers_;  // of the array's files in the book
  std::map<std::pair<std::int64_t, std::int64_t>, Incomplete> incomplete_;  // by file and block
  std::size_t parts_ = 0;
  std::int64_t verified_ = 0;  // blocks in this request
  bool completing_ = false;
};

}  // namespace weir::storage
