#include "measurement/meeting.hpp"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <utility>

namespace weir::bench {

Status Meeting::wait(MPI_Request& request, Waiting waiting) {
  Status status = wait_for(request, job_.deadline_ns(), "barrier", waiting);
  if (!status) failed_rank_ = job_.rank;
  return status;
}

Status Meeting::told(Status mine, int lowest) {
  if (lowest == none_failed) return {};
  failed_rank_ = lowest;
  if (mine) return failed_elsewhere(lowest);
  if (mine.error().rank < 0) mine.error().rank = job_.rank;
  return mine;
}

Status Meeting::meet(Status mine, Waiting waiting) {
  const int own = mine ? none_failed : job_.rank;
  int lowest = none_failed;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Iallreduce(&own, &lowest, 1, MPI_INT, MPI_MIN, job_.world, &request);
  if (Status status = wait(request, waiting); !status) return status;
  return told(std::move(mine), lowest);
}

Result<std::int64_t> Meeting::span(Status mine, const Times& times, Waiting waiting) {
  const auto found = start_and_span(std::move(mine), times, waiting);
  if (!found) return found.error();
  return found.value().ns;
}

Result<Meeting::Span> Meeting::start_and_span(Status mine, const Times& times, Waiting waiting) {
  // One reduction finds the lowest failed rank, when the first rank began and when the last one
  // ended.
  const std::array<std::int64_t, 3> own{-static_cast<std::int64_t>(mine ? none_failed : job_.rank),
                                        -(times.start_ns + offset_.offset_ns),
                                        times.end_ns + offset_.offset_ns};
  std::array<std::int64_t, 3> largest{};
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Iallreduce(own.data(), largest.data(), 3, MPI_INT64_T, MPI_MAX, job_.world, &request);
  if (Status status = wait(request, waiting); !status) return status.error();
  if (Status status = told(std::move(mine), static_cast<int>(-largest[0])); !status) {
    return status.error();
  }
  return Span{.start_ns = -largest[1], .ns = std::max<std::int64_t>(1, largest[2] + largest[1])};
}

Result<double> Meeting::slowest(double seconds) {
  double largest = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Iallreduce(&seconds, &largest, 1, MPI_DOUBLE, MPI_MAX, job_.world, &request);
  if (Status status = wait(request, Waiting::awake); !status) return status.error();
  return largest;
}

Status Meeting::sum(std::vector<std::int64_t>* values) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Iallreduce(MPI_IN_PLACE, values->data(), static_cast<int>(values->size()), MPI_INT64_T,
                 MPI_SUM, job_.world, &request);
  return wait(request, Waiting::awake);
}

Result<double> Meeting::from_first_rank(double value) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibcast(&value, 1, MPI_DOUBLE, 0, job_.world, &request);
  if (Status status = wait(request, Waiting::awake); !status) return status.error();
  return value;
}

}  // namespace weir::bench
