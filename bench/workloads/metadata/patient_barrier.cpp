#include "workloads/metadata/patient_barrier.hpp"

#include "common/clock.hpp"

namespace weir::bench::metadata {

Patience Patience::of(const Job& job) {
  constexpr double signs_per_deadline = 8;
  const auto apart = static_cast<std::int64_t>(job.deadline_seconds / signs_per_deadline * 1e9);
  return {.sign_after_ns = apart, .give_up_after_ns = job.deadline_ns() - monotonic_ns() + apart};
}

void PatientBarrier::start_round(Part part, int failed_rank) {
  told_ = {failed_rank, static_cast<int>(part)};
  MPI_Iallreduce(told_.data(), found_.data(), static_cast<int>(told_.size()), MPI_INT, MPI_MIN,
                 communicator_, &round_);
  ++rounds_;
  last_round_ns_ = monotonic_ns();
}

Status PatientBarrier::end_round() {
  return wait_for(round_, monotonic_ns() + patience_.give_up_after_ns, "barrier");
}

void PatientBarrier::still_working() {
  if (round_ != MPI_REQUEST_NULL) {
    int complete = 0;  // if set, the request is null
    MPI_Test(&round_, &complete, MPI_STATUS_IGNORE);
    return;
  }
  const std::int64_t now = monotonic_ns();
  if (last_round_ns_ == 0) last_round_ns_ = now;
  if (now - last_round_ns_ >= patience_.sign_after_ns) start_round(Part::working, none_failed);
}

Result<Agreement> PatientBarrier::wait(int failed_rank) {
  const std::int64_t start = monotonic_ns();
  if (round_ != MPI_REQUEST_NULL) {
    if (Status status = end_round(); !status) return status.error();
  }
  do {
    start_round(Part::finished, failed_rank);
    if (Status status = end_round(); !status) return status.error();
  } while (found_[1] == static_cast<int>(Part::working));
  last_round_ns_ = 0;
  return Agreement{found_[0], monotonic_ns() - start};
}

}  // namespace weir::bench::metadata
