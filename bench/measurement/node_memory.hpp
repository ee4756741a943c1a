// Compares the memory and the disk space that a run needs with what is available, and occupies
// memory on request.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "common/status.hpp"
#include "measurement/core_settings.hpp"
#include "measurement/job.hpp"

namespace weir::bench {

// Occupies memory of a node, so that the page cache cannot use it. One rank per node owns it.
class MemoryHog {
 public:
  MemoryHog() = default;
  static Result<MemoryHog> create(std::int64_t bytes);  // 0: occupies nothing
  MemoryHog(MemoryHog&& other) noexcept;
  MemoryHog& operator=(MemoryHog&& other) noexcept;
  MemoryHog(const MemoryHog&) = delete;
  MemoryHog& operator=(const MemoryHog&) = delete;
  ~MemoryHog();

 private:
  void* memory_ = nullptr;
  std::size_t bytes_ = 0;
};

// Fails if a run needs more disk space than is free on the directory's file system. Local.
[[nodiscard]] Status check_disk(const CoreSettings& core, std::int64_t needed_bytes);

// Fails if the ranks of a node and the hog need more memory than their node has. Collective; all
// ranks return the same status. On node leaders, `hog_bytes` becomes the memory that --memory-hog
// occupies on that node. `bytes_per_rank` times the number of ranks must be below 2^63.
[[nodiscard]] Status check_memory(const Job& job, const CoreSettings& core,
                                  std::int64_t bytes_per_rank, std::int64_t* hog_bytes);

// Returns the bytes of memory that are available to each of `ranks` ranks: the memory of a node,
// shared among its ranks, on the node where that is least. Collective over MPI_COMM_WORLD if MPI
// is initialized. Otherwise, as in --plan, all ranks are taken to run on this node.
[[nodiscard]] std::int64_t memory_available_to_a_rank(std::int64_t ranks);

}  // namespace weir::bench
