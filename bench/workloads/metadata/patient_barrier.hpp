// The barrier between two phases, which waits as long as any rank makes progress.
//
// Ranks may have very unequal work: one of them may make the tree, or the items of all ranks. A
// rank that has finished waits no longer than its patience for a sign of progress, but not for the
// end.
//
// Protocol: the ranks agree in rounds. Each round is an MPI_Iallreduce that every rank starts once,
// and the barrier is passed with the first round that all ranks have started as finished. A rank
// that is still working starts a round as "working" from time to time and tests it without waiting.
// A phase shorter than that time has one round: the plain barrier.
#pragma once

#include <mpi.h>

#include <array>
#include <cstdint>

#include "common/status.hpp"
#include "measurement/job.hpp"

namespace weir::bench::metadata {

// Says how long the ranks of a barrier wait for each other.
struct Patience {
  std::int64_t sign_after_ns = 0;     // a working rank gives a sign after this time
  std::int64_t give_up_after_ns = 0;  // the limit without a sign; well above sign_after_ns

  // Returns the patience of a job. Signs are an eighth of the job's deadline apart. A rank is given
  // up if it may have been in one operation for a whole deadline since its last sign.
  [[nodiscard]] static Patience of(const Job& job);
};

class PatientBarrier {
 public:
  // The communicator must outlive the barrier. Other collectives over it may only begin between
  // wait() and the next call of still_working().
  PatientBarrier(MPI_Comm communicator, const Patience& patience)
      : communicator_(communicator), patience_(patience) {}

  // Called from time to time by a rank that makes progress between two barriers; does not wait.
  void still_working();
  // Collective, like agree() of job.hpp.
  Result<Agreement> wait(int failed_rank);
  // Returns the number of rounds that this rank has started. It is the same on all ranks after a
  // barrier.
  [[nodiscard]] std::int64_t rounds() const { return rounds_; }

 private:
  enum class Part { working, finished };
  void start_round(Part part, int failed_rank);
  Status end_round();

  MPI_Comm communicator_;
  Patience patience_;
  MPI_Request round_ = MPI_REQUEST_NULL;
  // Reduced with MPI_MIN: the lowest failed rank, and the least advanced part.
  std::array<int, 2> told_{};
  std::array<int, 2> found_{};
  std::int64_t rounds_ = 0;
  // 0: since the last barrier, no round was started and still_working() was not called.
  std::int64_t last_round_ns_ = 0;
};

}  // namespace weir::bench::metadata
