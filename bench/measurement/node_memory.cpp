#include "measurement/node_memory.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <utility>

#include "common/checked.hpp"
#include "system/available_memory.hpp"

namespace weir::bench {
namespace {

constexpr std::int64_t unlimited = std::numeric_limits<std::int64_t>::max();

std::string size_text(std::int64_t bytes) {
  constexpr double gibibyte = 1024.0 * 1024.0 * 1024.0;
  return fmt::format("{:.2f} GiB", static_cast<double>(bytes) / gibibyte);
}

}  // namespace

Result<MemoryHog> MemoryHog::create(std::int64_t bytes) {
  MemoryHog hog;
  if (bytes == 0) return hog;
  hog.bytes_ = static_cast<std::size_t>(bytes);
  void* memory =
      mmap(nullptr, hog.bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    return Error(ErrorCode::insufficient,
                 fmt::format("--memory-hog: cannot occupy {}", size_text(bytes)));
  }
  hog.memory_ = memory;
  // The pages are touched so that they really exist. They are locked if the limits allow it;
  // otherwise they stay unless the node swaps.
  std::memset(memory, 1, hog.bytes_);
  static_cast<void>(mlock(memory, hog.bytes_));
  return hog;
}

MemoryHog::MemoryHog(MemoryHog&& other) noexcept
    : memory_(std::exchange(other.memory_, nullptr)), bytes_(other.bytes_) {}

MemoryHog& MemoryHog::operator=(MemoryHog&& other) noexcept {
  std::swap(memory_, other.memory_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

MemoryHog::~MemoryHog() {
  if (memory_ != nullptr) munmap(memory_, bytes_);
}

Status check_disk(const CoreSettings& core, std::int64_t needed_bytes) {
  struct statvfs file_system {};
  if (statvfs(core.directory.c_str(), &file_system) != 0) {
    return system_failure("statvfs", core.directory, -1, errno);
  }
  const auto free_bytes = checked_multiply(static_cast<std::int64_t>(file_system.f_bavail),
                                           static_cast<std::int64_t>(file_system.f_frsize))
                              .value_or(unlimited);
  // Some file systems do not report their size.
  if (file_system.f_blocks == 0 || needed_bytes <= free_bytes) return {};
  return Error(ErrorCode::insufficient,
               fmt::format("the run needs {} of disk, but {} are free in {}: transfer less data, "
                           "or give another --directory",
                           size_text(needed_bytes), size_text(free_bytes), core.directory));
}

Status check_memory(const Job& job, const CoreSettings& core, std::int64_t bytes_per_rank,
                    std::int64_t* hog_bytes) {
  // The bytes missing on the worst node.
  std::array<std::int64_t, 3> worst{0, 0, 0};  // missing, needed, available
  if (job.node_rank == 0) {
    const std::int64_t available = storage::available_memory_bytes();
    const std::int64_t ranks_need = bytes_per_rank * job.node_size;
    *hog_bytes =
        core.memory_hog.bytes > 0
            ? core.memory_hog.bytes
            : static_cast<std::int64_t>(core.memory_hog.fraction * static_cast<double>(available));
    const std::int64_t needed = checked_add(ranks_need, *hog_bytes).value_or(unlimited);
    worst = {std::max<std::int64_t>(needed - available, 0), needed, available};
  }
  struct {
    long missing;
    int node;
  } mine{worst[0], job.node_index}, largest{0, 0};
  MPI_Allreduce(&mine, &largest, 1, MPI_LONG_INT, MPI_MAXLOC, job.world);
  if (largest.missing == 0) return {};
  // Sends the worst node's figures to every rank, as a sum to which only that node's leader
  // contributes.
  std::array<std::int64_t, 3> figures{0, 0, 0};
  if (job.node_rank == 0 && job.node_index == largest.node) figures = worst;
  std::array<std::int64_t, 3> summed{};
  MPI_Allreduce(figures.data(), summed.data(), 3, MPI_INT64_T, MPI_SUM, job.world);
  return Error(
      ErrorCode::insufficient,
      fmt::format("the run needs {} of memory on a node{}, but {} are available: use "
                  "fewer pixels, fewer ranks per node or a smaller --memory-hog",
                  size_text(summed[1]), !core.memory_hog.empty() ? " (including --memory-hog)" : "",
                  size_text(summed[2])));
}

std::int64_t memory_available_to_a_rank(std::int64_t ranks) {
  const std::int64_t available = storage::available_memory_bytes();
  int initialized = 0;
  MPI_Initialized(&initialized);
  if (initialized == 0) return available / ranks;
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  int ranks_of_node = 1;
  MPI_Comm_size(node, &ranks_of_node);
  MPI_Comm_free(&node);
  const std::int64_t mine = available / ranks_of_node;
  std::int64_t least = mine;
  MPI_Allreduce(&mine, &least, 1, MPI_INT64_T, MPI_MIN, MPI_COMM_WORLD);
  return least;
}

}  // namespace weir::bench
