// Moves pieces between an aggregator's buffers and the files: each long extent as a range, and
// short extents through windows (plan/file_windows.hpp). The engine gets as many ranges at a time
// as it moves in parallel.
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
#include "sections/stored_files.hpp"

namespace weir::aggregation {

class PieceTransfer {
 public:
  // `context` must outlive the object.
  explicit PieceTransfer(const MoveContext& context) : context_(context) {}
  // Writes or reads the extents, which belong to `piece`; adds to the context's figures and
  // account. A write does not change the buffer. `due`: the bytes of the extents as known to the
  // creator of the piece; nothing if ranks read the same elements, so that their shares do not add
  // up to it.
  Status move(const plan::Piece& piece, plan::PieceExtents extents, std::optional<std::int64_t> due,
              std::byte* buffer);

 private:
  struct Window {
    plan::FileWindow extents;
    std::size_t data = 0;  // offset of its bytes in window_data_
  };

  // The windows and extents of a batch are moved together.
  Status add(plan::FileWindow& window, std::byte* buffer);
  void add_range(std::int64_t file, std::int64_t offset, std::byte* data, std::int64_t bytes);
  Status end_batch(std::byte* buffer);
  void count(std::span<const storage::StoredRange> all);
  // Returns whether the extent is in a file. If it is not, a read fills it with the fill value.
  Result<bool> is_stored(const plan::FileExtent& extent);
  Result<bool> is_full();
  // Reports to the other arrays of a bundle what is written of them, since their own files are not
  // used.
  void tell_bundle() const;
  // Begins the part of this array, and of other arrays in the same file.
  void begin_part(int array);

  const MoveContext& context_;
  const RequestedPart* part_ = nullptr;  // of the piece; in a bundle, one array per file
  const plan::Piece* bundle_ = nullptr;  // null: its arrays need no reports of transfers
  std::vector<std::byte> fill_;          // of its array, in the file's representation
  // State of the current batch.
  struct Range {
    std::int64_t file = 0;
    std::int64_t offset = 0;
    storage::Slice slice;
  };
  std::vector<Range> ranges_;
  plan::FileWindow window_;  // the one that is added to it
  std::vector<Window> windows_;
  std::vector<std::byte> window_data_;
  std::size_t window_bytes_ = 0;
  std::vector<storage::StoredRange> stored_;  // for the engine
  storage::FileTraffic traffic_;
};

// The error of a write of elements that are in no file.
[[nodiscard]] Error no_place(const OpenArray& array);

}  // namespace weir::aggregation
