// What a job tells `weir` of its progress: one line of JSON on standard error for each repetition
// that begins, and one at the end.
#pragma once

#include <span>
#include <string>

#include "measurement/repetition.hpp"

namespace weir::bench {

struct RunProgress {
  int repetitions = 0;  // done, warm-ups included
  bool finished = false;
};

// The repetition that is about to begin.
struct NextRepetition {
  std::string label;  // of its run
  int round = 0;      // warm-ups come first
};

// How many repetitions there will be is known in bounds until every run is finished.
void report_progress(const RepetitionPolicy& policy, std::span<const RunProgress> runs,
                     const NextRepetition& next);
// After the last repetition of all runs.
void report_end(const RepetitionPolicy& policy, std::span<const RunProgress> runs,
                const std::string& label);

}  // namespace weir::bench
