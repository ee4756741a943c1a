// Converts the distribution over all ranks to that over one gang, by messages from rank to rank.
//
// Both distributions have the same blocks, and the side of the gang's process grid divides that of
// all ranks. Therefore all blocks of one rank belong to one rank of the gang: every rank sends its
// whole share to one rank, and a rank of the gang receives from as many ranks as there are gangs.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "common/status.hpp"
#include "measurement/job.hpp"
#include "workloads/madbench/full/distribution.hpp"
#include "workloads/madbench/parameters.hpp"

namespace weir::bench::madbench {

// The arithmetic of the conversion. Pure.
struct RemapPlan {
  std::int64_t pixels = 0;
  std::int64_t block = 1;
  std::int64_t side = 1;       // of the process grid of all ranks
  std::int64_t gang_side = 1;  // of a gang's process grid; divides side

  [[nodiscard]] static RemapPlan of(const Size& size);
  // Returns the rank within the gang to which `rank` of the job sends its share.
  [[nodiscard]] std::int64_t target_of(std::int64_t rank) const;
  // Returns the ranks of the job that send to `gang_rank` of the gang, in ascending order.
  [[nodiscard]] std::vector<std::int64_t> sources_of(std::int64_t gang_rank) const;
  // Copies `columns` local columns of `source`'s share, which start at `first_column` and lie at
  // `from`, to their places in the share of its target at `to`.
  void place(std::int64_t source, std::int64_t first_column, std::int64_t columns,
             const double* from, double* to) const;
  [[nodiscard]] Distribution of_rank(std::int64_t rank) const;
  [[nodiscard]] Distribution of_gang_rank(std::int64_t gang_rank) const;
};

class Remapping {
 public:
  Remapping(const Job& job, const Size& size);

  // Converts every rank's `share` of one matrix to the shares of the ranks of `gang`, at
  // `gang_share` on those ranks; on other ranks `gang_share` is not changed. Collective over the
  // job. Needs buffers of a few MiB.
  Status to_gang(std::int64_t gang, const double* share, double* gang_share,
                 const std::function<void()>& progress);

 private:
  [[nodiscard]] std::int64_t columns_per_message(std::int64_t rank) const;
  Status receive(std::int64_t source, double* gang_share, const std::function<void()>& progress);

  const Job& job_;
  RemapPlan plan_;
  std::int64_t ranks_per_gang_;
  std::vector<double> arriving_;
};

}  // namespace weir::bench::madbench
