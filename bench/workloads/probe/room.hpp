// The memory and disk space that the nodes of a job and a file system can spare for measurements.
#pragma once

#include <cstdint>
#include <string>

#include "measurement/job.hpp"

namespace weir::bench::probe {

struct Room {
  std::int64_t memory_per_rank = 0;   // on the node with the least memory for each of its ranks
  std::int64_t memory_available = 0;  // summed over the nodes
  std::int64_t disk_per_rank = 0;
  std::int64_t copy_bytes = 0;   // of a buffer for memory copies
  std::int64_t piece_bytes = 0;  // the largest piece, up to the requested size
  std::int64_t file_bytes = 0;   // of one rank, at most, in a test file
};

// Collective; all ranks return the same result. `transfer_bytes` is the requested size of a piece,
// `bytes_per_rank` that of one rank in its file.
[[nodiscard]] Room find_room(const Job& job, const std::string& directory,
                             std::int64_t transfer_bytes, std::int64_t bytes_per_rank);

}  // namespace weir::bench::probe
