// Memory and disk that a run needs, compared with what there is; and memory taken on purpose.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "common/status.hpp"
#include "measurement/core_settings.hpp"
#include "measurement/job.hpp"

namespace weir::bench {

// Occupies memory of a node, so that the page cache cannot have it. Owned by one rank per node.
class MemoryHog {
 public:
  MemoryHog() = default;
  static Result<MemoryHog> create(std::int64_t bytes);  // 0: none
  MemoryHog(MemoryHog&& other) noexcept;
  MemoryHog& operator=(MemoryHog&& other) noexcept;
  MemoryHog(const MemoryHog&) = delete;
  MemoryHog& operator=(const MemoryHog&) = delete;
  ~MemoryHog();

 private:
  void* memory_ = nullptr;
  std::size_t bytes_ = 0;
};

// Refuses a run that needs more disk than the directory's file system has free. Local.
[[nodiscard]] Status check_disk(const CoreSettings& core, std::int64_t needed_bytes);

// Refuses a run whose ranks need more than their node has, with the hog, or more disk than the
// directory's file system has free. Collective; the same answer on every rank. On node leaders,
// `hog_bytes` is what --memory-hog takes there.
struct Needs {
  std::int64_t memory_bytes_per_rank = 0;
  std::int64_t disk_bytes = 0;
};
[[nodiscard]] Status check_needs(const Job& job, const CoreSettings& core, const Needs& needs,
                                 std::int64_t* hog_bytes);

}  // namespace weir::bench
