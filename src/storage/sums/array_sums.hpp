// Watches the transfers of one array: sums what is written, and verifies what is read against what
// is known of the file.
//
// Reading, a block is verified when this process has read all of it, in as many parts as it takes.
// Blocks that are incomplete at the end of a request are completed, by reading the rest, where that
// is little: where three quarters are there and, of an array that was read whole, a few, as
// aggregators share a block where their parts meet. Others are not verified.
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
    watching_ = book_ != nullptr;
  }
  void set_turn(std::int64_t turn);
  // Null: nothing is collected.
  [[nodiscard]] const BlockSums* written() const { return written_ ? &*written_ : nullptr; }
  [[nodiscard]] const ArrayPlaces& places();

  void writes(const StoredRange& range) override;

  // ---- Reading ----

  // Nothing is verified without a book. `file` is all that is there, for errors, and stays.
  void verify(std::shared_ptr<const SumBook> book, const FileMap& file) {
    book_ = std::move(book);
    file_ = &file;
    watching_ = written_ || book_ != nullptr;
  }
  Status has_read(const StoredRange& range) override;
  // Reads the rest of a block: fills the bytes at an offset of a file of the array.
  using ReadMore = std::function<Status(const StoredRange& range)>;
  // When the request has ended on this process. `whole`: all of the array was asked for.
  Status end_reading(bool whole, const ReadMore& read_more);
  // The same when it failed.
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
  std::shared_ptr<const SumBook> book_;
  const FileMap* file_ = nullptr;
  std::unordered_map<std::int64_t, std::int64_t> known_;
  std::map<std::pair<std::int64_t, std::int64_t>, Incomplete> incomplete_;  // by file and block
  std::size_t parts_ = 0;
  std::int64_t verified_ = 0;  // blocks in this request
  bool completing_ = false;
};

}  // namespace weir::storage
