// From every rank's record of a phase to the phase's figures: reductions over the ranks, the
// figures on rank 0. Collective over the job.
#pragma once

#include <cstdint>
#include <vector>

#include "measurement/aggregate.hpp"
#include "measurement/clock_offset.hpp"
#include "measurement/job.hpp"
#include "measurement/phase_record.hpp"

namespace weir::bench {

// What --stonewall found, over all ranks.
struct WallFigures {
  bool reached = false;               // by any rank
  std::int64_t bytes = 0;             // moved by all until then
  double seconds = 0;                 // the longest that a rank took for its part
  std::int64_t operations_least = 0;  // of a rank
  std::int64_t operations_most = 0;
  [[nodiscard]] double rate() const {
    return seconds > 0 ? static_cast<double>(bytes) / seconds : 0;
  }
};

struct RecordFigures {
  // As every phase has them. The span is from the first rank's first transfer to the last rank's
  // last one with its sync: nothing holds the ranks together in between.
  PhaseFigures phase;
  Spread open_seconds;
  Spread close_seconds;
  double opening_seconds = 0;  // of all ranks: from the first who began to open to the last who had
  double closing_seconds = 0;
  double total_seconds = 0;  // from the first who began to open to the last who had closed
  WallFigures wall;
};

[[nodiscard]] RecordFigures record_figures(const Job& job, const PhaseRecord& record,
                                           const ClockOffset& offset);

// By target: bytes of its ranks, and the I/O time of the slowest. On rank 0.
struct TargetFigures {
  std::int64_t bytes = 0;
  double io_seconds_max = 0;
};
[[nodiscard]] std::vector<TargetFigures> target_figures(const Job& job, const PhaseRecord& record,
                                                        std::size_t target, std::size_t targets);

// By node, as aggregate.hpp has it: every node leader gets its node's figures.
[[nodiscard]] NodePhase node_figures(const Job& job, const PhaseRecord& record);

}  // namespace weir::bench
