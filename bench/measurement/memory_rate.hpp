// How fast this job's ranks copy memory: what no rate through the page cache can exceed.
#pragma once

#include "measurement/job.hpp"

namespace weir::bench {

// Bytes per second, all ranks copying at once, the best of a few trials; takes some milliseconds.
// Collective; the same value on rank 0, 0 elsewhere.
[[nodiscard]] double memory_copy_rate(const Job& job);

}  // namespace weir::bench
