// Windows of a file (data sieving): short extents of a piece that are close together are moved in
// one transfer, together with the bytes between them. On a read, the window is read and the extents
// are extracted; on a write, it is read, changed and written back.
//
// Writing a window is safe only if no other writer can write into the window at the same time. This
// requires two conditions:
//   - One group of aggregators writes the file. Each piece lies in a unit of the file that belongs
//     to its aggregator alone, a window lies between two extents of the piece, and an aggregator
//     moves one piece at a time.
//   - No other array of the request is in the same file, since it would have units of its own.
// Bundles are always written without windows. The next request begins only after this one has ended
// on all ranks.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/piece_extents.hpp"
#include "plan/plan.hpp"
#include "plan/platform_rates.hpp"

namespace weir::plan {

// Returns the length of the longest hole that a read moves along (array/data_sieving.hpp). `cold`:
// the file's pages are not in memory, so that the read waits for storage.
[[nodiscard]] std::int64_t widest_hole_of_read(const PlatformRates& rates, bool cold);

// Returns the length of the widest hole that is moved along instead of being skipped by another
// call; -1 if the extents of this array must be moved one by one.
[[nodiscard]] std::int64_t widest_gap(const Plan& plan, int array, const PlatformRates& rates,
                                      bool cold = false);

struct FileWindow {
  // Extents in one file, ascending: several form a window, and a single one is moved alone.
  std::vector<FileExtent> extents;

  [[nodiscard]] std::int64_t offset() const { return extents.front().offset; }
  [[nodiscard]] std::int64_t bytes() const {
    return extents.back().offset + extents.back().bytes - offset();
  }
};

// Generates the extents of a piece as windows, in the order of the extents.
class FileWindows {
 public:
  FileWindows(PieceExtents extents, std::int64_t widest_gap);
  // Returns false if no window is left.
  bool next(FileWindow& window);

 private:
  PieceExtents extents_;
  std::int64_t widest_gap_;
  FileExtent waiting_;
  bool has_waiting_ = false;
};

// Estimate of the number of windows that a copy to a file needs, and their bytes, in closed form.
struct WindowEstimate {
  double windows = 0;
  double bytes = 0;   // of all windows
  bool alone = true;  // each window has only one extent
};
[[nodiscard]] WindowEstimate estimate_windows(const array::StridedCopy& to_file,
                                              std::int64_t widest_gap);

}  // namespace weir::plan
