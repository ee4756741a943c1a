// Reports the progress of a job to `weir`: one line of JSON on standard error for each repetition
// that begins, and one at the end.
#pragma once

#include <span>
#include <string>

#include "measurement/repetition.hpp"

namespace weir::bench {

struct RunProgress {
  int repetitions = 0;  // finished repetitions, including warm-ups
  bool finished = false;
};

// The repetition that is about to begin.
struct NextRepetition {
  std::string label;  // of the repetition's run
  int round = 0;      // rounds of warm-ups come first
};

// Reports bounds for the number of repetitions, which is not known until every run is finished.
void report_progress(const RepetitionPolicy& policy, std::span<const RunProgress> runs,
                     const NextRepetition& next);
// Call it after the last repetition of all runs.
void report_end(const RepetitionPolicy& policy, std::span<const RunProgress> runs,
                const std::string& label);

}  // namespace weir::bench
