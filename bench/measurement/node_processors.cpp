#include "measurement/node_processors.hpp"

#include <mpi.h>

#include <cstddef>
#include <vector>

#include "ranks/processor_set.hpp"

namespace weir::bench {
namespace {

constexpr std::size_t mask_bytes = 1024;  // one bit for each of as many processors as Linux takes

}  // namespace

Result<std::int64_t> processors_of_a_node(const Job& job) {
  std::vector<std::byte> mine = ranks::ProcessorSet::of_this_process().mask();
  mine.resize(mask_bytes);
  ranks::ProcessorSet all;
  all.mask().resize(mask_bytes);
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Iallreduce(mine.data(), all.mask().data(), static_cast<int>(mask_bytes), MPI_BYTE, MPI_BOR,
                 job.node, &request);
  Status told = wait_for(request, job.deadline_ns(), "the processors of the node's ranks");
  if (!told) return told.error();
  std::int64_t own = all.count();
  std::int64_t least = 0;
  MPI_Iallreduce(&own, &least, 1, MPI_INT64_T, MPI_MIN, job.world, &request);
  told = wait_for(request, job.deadline_ns(), "the processors of all nodes");
  if (!told) return told.error();
  return least;
}

}  // namespace weir::bench
