// The barrier between two phases, which waits as long as somebody makes progress.
//
// Ranks may have very unequal work: one of them makes the tree, or the items of all. A rank that
// has finished waits no longer than its patience for a sign of life, not for the end.
// Protocol: the ranks agree in rounds, each of them an MPI_Iallreduce that every rank starts once;
// the barrier is passed with the first round that all have started as finished. A rank that works
// on starts a round as "working" now and then and looks after it without waiting. A phase shorter
// than that has one round: the plain barrier.
#pragma once

#include <mpi.h>

#include <array>
#include <cstdint>

#include "common/status.hpp"
#include "measurement/job.hpp"

namespace weir::bench::metadata {

// How long the ranks of a barrier wait for each other.
struct Patience {
  std::int64_t sign_after_ns = 0;     // a working rank gives a sign when so long has passed
  std::int64_t give_up_after_ns = 0;  // without a sign; well above the other

  // Signs are an eighth of the job's deadline apart; a rank is given up when it may have been in
  // one operation for a whole deadline since its last.
  [[nodiscard]] static Patience of(const Job& job);
};

class PatientBarrier {
 public:
  // The communicator must outlive the barrier; meanwhile other collectives over it are begun only
  // between wait() and the next call of still_working().
  PatientBarrier(MPI_Comm communicator, const Patience& patience)
      : communicator_(communicator), patience_(patience) {}

  // Called now and then by a rank that makes progress between two barriers; does not wait.
  void still_working();
  // Collective; as agree() of job.hpp.
  Result<Agreement> wait(int failed_rank);
  // How many this rank has started so far; the same on all ranks once a barrier is passed.
  [[nodiscard]] std::int64_t rounds() const { return rounds_; }

 private:
  enum class Part { working, finished };
  void start_round(Part part, int failed_rank);
  Status end_round();

  MPI_Comm communicator_;
  Patience patience_;
  MPI_Request round_ = MPI_REQUEST_NULL;
  // By MPI_MIN: the lowest failed rank, and the least advanced part.
  std::array<int, 2> told_{};
  std::array<int, 2> found_{};
  std::int64_t rounds_ = 0;
  std::int64_t last_round_ns_ = 0;  // 0: none since the last barrier and nobody asked
};

}  // namespace weir::bench::metadata
