// Windows of a file (data sieving): short extents of a piece that lie close together are moved in
// one transfer with what lies between them. Reading, the window is read and the extents are taken
// out; writing, it is read, changed and written back.
//
// Writing a window changes nothing else only where nobody else can write into the window meanwhile:
//   - one group of aggregators writes the file. Each piece lies in a unit of the file that is its
//     aggregator's alone, a window between two extents of the piece, and an aggregator moves one
//     piece at a time;
//   - no other array of the request is in the same file, as it would have units of its own. (Of
//     bundles this is not asked.)
// The next request begins when this one has ended on all ranks.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/piece_extents.hpp"
#include "plan/plan.hpp"
#include "plan/platform_rates.hpp"

namespace weir::plan {

// The widest hole that is moved rather than passed over by another call; -1 where extents of this
// array have to be moved alone.
[[nodiscard]] std::int64_t widest_gap(const Plan& plan, int array, const PlatformRates& rates);

struct FileWindow {
  std::vector<FileExtent>
      extents;  // in one file, ascending; a window's are several, else it is one

  [[nodiscard]] std::int64_t offset() const { return extents.front().offset; }
  [[nodiscard]] std::int64_t bytes() const {
    return extents.back().offset + extents.back().bytes - offset();
  }
};

// The extents of a piece as windows, in their order.
class FileWindows {
 public:
  FileWindows(PieceExtents extents, std::int64_t widest_gap);
  // False when there is none left.
  bool next(FileWindow& window);

 private:
  PieceExtents extents_;
  std::int64_t widest_gap_;
  FileExtent waiting_;
  bool has_waiting_ = false;
};

// About how many windows a copy to a file takes, and their bytes: in closed form.
struct WindowEstimate {
  double windows = 0;
  double bytes = 0;   // of all windows
  bool alone = true;  // each has one extent
};
[[nodiscard]] WindowEstimate estimate_windows(const array::StridedCopy& to_file,
                                              std::int64_t widest_gap);

}  // namespace weir::plan
