#include "interfaces/stager_ranks.hpp"

#include <weir/weir.h>

#include "common/status.hpp"
#include "measurement/workload_job.hpp"

namespace weir::bench {

// A stager that has ended too early fails the ranks that use it, which say so; its own rank need
// not.
int run_beside_stagers(const std::function<int(MPI_Comm)>& run) {
  weir_session_options options = {};
  options.staging = "ranks";
  MPI_Comm others = MPI_COMM_NULL;
  if (weir_init_staging(MPI_COMM_WORLD, &options, &others) < 0) {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank == 0 ? complain(invalid_argument(weir_last_error())) : exit_usage;
  }
  if (others == MPI_COMM_NULL) return 0;
  const int status = run(others);
  const int left = weir_finalize_staging(&others);
  return status == 0 && left < 0 ? exit_usage : status;
}

}  // namespace weir::bench
