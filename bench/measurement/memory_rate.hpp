// Measures how fast this job's ranks copy memory. No rate through the page cache can exceed it.
#pragma once

#include "measurement/job.hpp"

namespace weir::bench {

// Returns bytes per second with all ranks copying at once, the best of a few trials. Takes some
// milliseconds. Collective; the result is on rank 0, and 0 on other ranks.
[[nodiscard]] double memory_copy_rate(const Job& job);

}  // namespace weir::bench
