// Reduces every rank's record of a phase to the phase's figures, which are on rank 0. Collective
// over the job.
#pragma once

#include <cstdint>
#include <vector>

#include "measurement/aggregate.hpp"
#include "measurement/clock_offset.hpp"
#include "measurement/job.hpp"
#include "measurement/phase_record.hpp"

namespace weir::bench {

// The state of all ranks when the time of --stonewall had passed.
struct WallFigures {
  bool reached = false;               // by any rank
  std::int64_t bytes = 0;             // moved by all ranks until then
  double seconds = 0;                 // the longest time that a rank needed for its part
  std::int64_t operations_least = 0;  // the least operations of a rank
  std::int64_t operations_most = 0;
  [[nodiscard]] double rate() const {
    return seconds > 0 ? static_cast<double>(bytes) / seconds : 0;
  }
};

struct RecordFigures {
  // The figures that every phase has. The span extends from the first rank's first transfer to the
  // last rank's last transfer with its sync; the ranks do not synchronize in between.
  PhaseFigures phase;
  Spread open_seconds;
  Spread close_seconds;
  // From the time at which the first rank began to open until the last rank had opened.
  double opening_seconds = 0;
  double closing_seconds = 0;
  // From the time at which the first rank began to open until the last rank had closed.
  double total_seconds = 0;
  WallFigures wall;
};

[[nodiscard]] RecordFigures record_figures(const Job& job, const PhaseRecord& record,
                                           const ClockOffset& offset);

// The figures of one target: the bytes of its ranks, and the I/O time of the slowest. On rank 0.
struct TargetFigures {
  std::int64_t bytes = 0;
  double io_seconds_max = 0;
};
// `mine` is what this rank moved, to the target with the number `target`.
[[nodiscard]] std::vector<TargetFigures> target_figures(const Job& job, const TargetFigures& mine,
                                                        std::size_t target, std::size_t targets);

// Returns the figures of each node as in aggregate.hpp: every node leader gets its node's figures.
[[nodiscard]] NodePhase node_figures(const Job& job, const PhaseRecord& record);

}  // namespace weir::bench
