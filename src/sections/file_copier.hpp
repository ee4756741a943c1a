// Executes copies between memory and the files of one array, in one process. Every request on one
// process goes this way: sections (sections/read_section.hpp, sections/write_section.hpp) and rows
// that a rank moves by itself (aggregation/direct_move.hpp).
//
// clang-format off
//     copy ─► spans of a file ─► batch of spans that follow each other ─► calls ─► account
//             (cut() here)       (take())                                 long runs: straight to and from memory
//                                                                         short runs: through a buffer
//                                                                         writes with holes: as rows
// clang-format on
//
// A span is contiguous in the file. In a read it contains the holes that data sieving reads along
// (array/data_sieving.hpp). In a write it has holes only if its rows follow each other in memory.
// Rows with holes between them, of one span or of several, are passed on together
// (system/scattered_write.hpp). Numbers of the other byte order are swapped where they pass: in the
// copy from or to the buffer, or in place while they are in a cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "array/copy.hpp"
#include "array/data_sieving.hpp"
#include "common/direction.hpp"
#include "common/status.hpp"
#include "stored/stored_range.hpp"
#include "system/scattered_write.hpp"
#include "system/slices.hpp"

namespace weir::storage {

// The files of one array, as a FileCopier moves ranges of them.
class CopiedFiles {
 public:
  CopiedFiles() = default;
  CopiedFiles(const CopiedFiles&) = delete;
  CopiedFiles& operator=(const CopiedFiles&) = delete;
  virtual ~CopiedFiles() = default;

  // Fills the slices of the range. Returns false if the file does not exist and may be missing; its
  // elements then have the fill value.
  virtual Result<bool> read(const StoredRange& range) = 0;
  // Writes the slices of the range.
  virtual Status write(const StoredRange& range) = 0;
  // Writes rows, which ascend in the file, and no byte between them. Sets `bytes` to the number of
  // bytes written. If this is not overridden, what is between two holes is a write().
  virtual Status write_rows(std::int64_t file, std::span<const PlacedSlice> rows,
                            std::int64_t& bytes);
  // Returns whether a read at this offset would wait for storage. It is called only if that decides
  // whether holes are read.
  virtual bool is_cold(std::int64_t file, std::int64_t offset) = 0;
};

struct FileCopyOptions {
  Direction direction = Direction::read;
  // Number of bytes that are reversed together between memory and file: 1 for none.
  std::int64_t swapped_together = 1;
  // The fill value in memory's representation; no bytes: zero.
  std::span<const std::byte> fill = {};  // NOLINT(readability-redundant-member-init)
  // Maximum number of bytes of the buffer and of a batch; a run that needs no buffer may be longer.
  std::int64_t most_bytes = std::int64_t{4} << 20;
  // Reads of the files if they are in memory.
  array::TransferCost read_cost = array::cached_read;
  // True if all bytes of a read, also those of holes, are passed on by CopiedFiles::read(), as for
  // checksums. Only runs without holes are then moved straight.
  bool keeps_holes = false;
};

// Bytes of all copies so far. Requested bytes are moved or filled.
struct FileCopyAccount {
  std::int64_t moved = 0;
  std::int64_t holes = 0;  // read along
  std::int64_t filled = 0;
};

class FileCopier {
 public:
  // Runs of at least this length are moved straight between file and memory.
  static constexpr std::int64_t straight_from = 1 << 10;
  // Maximum number of spans in a batch, and of slices in a call.
  static constexpr std::size_t most_together = 1024;
  // Maximum number of rows in a batch of a write.
  static constexpr std::size_t most_rows_together = 16 << 10;

  FileCopier(CopiedFiles& files, const FileCopyOptions& options) : files_(files) {
    set_options(options);
  }

  // Moves the elements of a copy from memory to file number `file`, or in the opposite direction.
  // Its runs ascend in the file and do not overlap there. `memory` is not changed by a write. Spans
  // may be left for the next call, which continues with them; end() moves the rest.
  Status move(std::int64_t file, const array::StridedCopy& to_file, std::byte* memory);
  // Gives the fill value to elements that are in no file. `copy` is the copy to memory.
  void fill(const array::StridedCopy& to_memory, std::byte* memory);
  Status end();

  // Set the options of the following copies, and whether they read holes, which they do by default.
  // No span is left from before.
  void set_options(const FileCopyOptions& options);
  void set_reads_holes(bool reads_holes);
  [[nodiscard]] const FileCopyAccount& account() const { return account_; }

 private:
  struct Span {
    std::int64_t begin = 0;  // in the file
    std::int64_t end = 0;
    std::byte* memory = nullptr;  // of its first run
    std::size_t shape = 0;        // in shapes_
    std::int64_t bytes = 0;       // of its runs, without holes
  };

  [[nodiscard]] bool is_reading() const { return options_.direction == Direction::read; }
  [[nodiscard]] bool is_straight(const array::StridedCopy& copy) const;
  // Returns whether wide holes from this offset on are read along, as the file is cold there.
  bool is_cold(std::int64_t offset);
  Status take(const array::StridedCopy& copy, std::int64_t bytes, std::byte* memory);
  bool continues_batch(const array::StridedCopy& copy, std::int64_t bytes);
  Status move_straight();
  Status move_slices(std::int64_t offset);
  Status read_through_buffer();
  Status write_through_buffer();
  Status write_long_run(const Span& span);
  [[nodiscard]] bool is_block_of_memory() const;
  Status write_spans_as_rows();
  // Forgets the spans, and all shapes but the last one, which the next span probably has.
  void clear_batch();
  std::byte* buffer(std::int64_t bytes);

  CopiedFiles& files_;
  FileCopyOptions options_;
  // The longest holes that reads move along in files that are in memory, and in cold files.
  std::int64_t narrow_ = 0;
  std::int64_t wide_ = 0;
  FileCopyAccount account_;

  // The batch.
  std::int64_t file_ = 0;
  std::vector<Span> spans_;
  // The copies of spans, from memory to the file, without their offsets; most spans have the same.
  std::vector<array::StridedCopy> shapes_;
  bool straight_ = false;
  bool has_rows_ = false;       // a write whose spans have holes in or between them
  std::size_t batch_rows_ = 0;  // of all spans of a write; each that has no hole is one
  // The place for which is_cold() was asked last, for the bytes from `asked_` up to most_bytes
  // behind it.
  std::int64_t asked_file_ = -1;
  std::int64_t asked_ = 0;
  bool cold_ = false;

  std::vector<Slice> slices_;  // of the next call
  std::vector<PlacedSlice> rows_;
  std::vector<std::byte> hole_;  // destination of holes between runs
  std::unique_ptr<std::byte[]> buffer_;
  std::int64_t capacity_ = 0;
};

}  // namespace weir::storage
