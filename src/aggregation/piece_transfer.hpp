// Moves pieces between an aggregator's buffers and the files: long extents by a range each, short
// ones through windows (plan/file_windows.hpp). As many ranges go to the engine together as it
// moves side by side.
//
//     write   buffer ─► (window: read, changed) ─► file
//     read    buffer ◄─ (window: taken out)     ◄─ file        no file: the fill value
//
// A buffer holds numbers in the byte order of the file (aggregation/share_copy.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "aggregation/move.hpp"
#include "common/status.hpp"
#include "plan/file_windows.hpp"
#include "storage/stored_files.hpp"

namespace weir::aggregation {

class PieceTransfer {
 public:
  // `context` outlives this.
  explicit PieceTransfer(const MoveContext& context) : context_(context) {}
  // Writes or reads the extents, which are of `piece`; adds to the context's figures and account.
  // Writing only reads the buffer. `due`: the bytes of the extents, as who made the piece knows
  // them; nothing where ranks read the same elements, so that their shares do not add up to it.
  Status move(const plan::Piece& piece, plan::PieceExtents extents, std::optional<std::int64_t> due,
              std::byte* buffer);

 private:
  struct Window {
    plan::FileWindow extents;
    std::size_t data = 0;  // where its bytes are in window_data_
  };

  // Windows and extents of a batch are moved together.
  Status add(plan::FileWindow& window, std::byte* buffer);
  void add_range(std::int64_t file, std::int64_t offset, std::byte* data, std::int64_t bytes);
  Status end_batch(std::byte* buffer);
  void count(std::span<const storage::StoredRange> all);
  // Whether the extent is in a file; if not, read it is the fill value.
  Result<bool> is_stored(const plan::FileExtent& extent);
  [[nodiscard]] bool is_full() const;
  // The other arrays of a bundle are told what is written of them, as their files are not asked.
  void tell_bundle() const;
  // What follows is of this array, or of others in the same file.
  void begin_part(int array);

  const MoveContext& context_;
  const RequestedPart* part_ = nullptr;  // of the piece, in bundles one in the same file
  const plan::Piece* bundle_ = nullptr;  // null: its arrays need not be told of transfers
  std::vector<std::byte> fill_;          // its array's, as the file would have it
  // The batch.
  struct Range {
    std::int64_t file = 0;
    std::int64_t offset = 0;
    storage::Slice slice;
  };
  std::vector<Range> ranges_;
  std::vector<Window> windows_;
  std::vector<std::byte> window_data_;
  std::size_t window_bytes_ = 0;
  std::vector<storage::StoredRange> stored_;  // for the engine
  storage::FileTraffic traffic_;
};

// Fills memory with copies of an element; zeros when it has no bytes.
void fill_with(std::byte* data, std::int64_t bytes, std::span<const std::byte> element);

// The refusal to write elements that are in no file.
[[nodiscard]] Error no_place(const OpenArray& array);

}  // namespace weir::aggregation
