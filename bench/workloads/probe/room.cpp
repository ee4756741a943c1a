#include "workloads/probe/room.hpp"

#include <mpi.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <array>

#include "system/available_memory.hpp"

namespace weir::bench::probe {
namespace {

// Copies between smaller buffers would measure a processor's cache.
constexpr std::int64_t least_copy_bytes = std::int64_t{32} << 20;
// The shares of the free memory and of the free disk that are used; the rest is left to other
// users.
constexpr double memory_share = 0.5;
constexpr double disk_share = 0.5;

}  // namespace

Room find_room(const Job& job, const std::string& directory, std::int64_t transfer_bytes,
               std::int64_t bytes_per_rank) {
  Room room;
  std::array<std::int64_t, 2> least{};
  std::int64_t available = 0;
  if (job.node_rank == 0) available = storage::available_memory_bytes();
  MPI_Allreduce(&available, &room.memory_available, 1, MPI_INT64_T, MPI_SUM, job.world);
  MPI_Bcast(&available, 1, MPI_INT64_T, 0, job.node);
  least[0] = available / job.node_size;
  struct statvfs file_system {};
  const bool tells = statvfs(directory.c_str(), &file_system) == 0 && file_system.f_blocks > 0;
  least[1] = tells
                 ? static_cast<std::int64_t>(file_system.f_bavail * file_system.f_frsize) / job.size
                 : std::int64_t{1} << 62;
  MPI_Allreduce(MPI_IN_PLACE, least.data(), 2, MPI_INT64_T, MPI_MIN, job.world);
  room.memory_per_rank = static_cast<std::int64_t>(memory_share * static_cast<double>(least[0]));
  room.disk_per_rank = static_cast<std::int64_t>(disk_share * static_cast<double>(least[1]));
  // There must be room for two buffers, and for twice their size in the page cache.
  const std::int64_t largest_buffer = std::max<std::int64_t>(room.memory_per_rank / 4, 4096);
  room.copy_bytes = std::min(least_copy_bytes, largest_buffer);
  room.piece_bytes = std::max<std::int64_t>(
      8, std::min({transfer_bytes, largest_buffer, room.disk_per_rank}) / 8 * 8);
  room.file_bytes = std::min({bytes_per_rank, room.memory_per_rank, room.disk_per_rank});
  return room;
}

}  // namespace weir::bench::probe
