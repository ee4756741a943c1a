#include "measurement/job.hpp"

#include <unistd.h>

#include <array>
#include <utility>

#include "common/clock.hpp"

namespace weir::bench {

Job Job::create(double deadline_seconds, MPI_Comm ranks) {
  Job job;
  job.deadline_seconds = deadline_seconds;
  MPI_Comm_dup(ranks, &job.world);
  MPI_Comm_rank(job.world, &job.rank);
  MPI_Comm_size(job.world, &job.size);
  MPI_Comm_split_type(job.world, MPI_COMM_TYPE_SHARED, job.rank, MPI_INFO_NULL, &job.node);
  MPI_Comm_rank(job.node, &job.node_rank);
  MPI_Comm_size(job.node, &job.node_size);
  MPI_Comm_split(job.world, job.node_rank == 0 ? 0 : MPI_UNDEFINED, job.rank, &job.leaders);
  std::array<int, 2> place{0, 1};
  if (job.leaders != MPI_COMM_NULL) {
    MPI_Comm_rank(job.leaders, &place[0]);
    MPI_Comm_size(job.leaders, &place[1]);
  }
  MPI_Bcast(place.data(), 2, MPI_INT, 0, job.node);
  job.node_index = place[0];
  job.nodes = place[1];

  if (job.rank == 0) job.opened_hints = std::make_unique<OpenedHints>();
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  job.host = name.data();
  const std::int64_t process = getpid();
  job.node_processes.resize(static_cast<std::size_t>(job.node_size));
  job.node_world_ranks.resize(static_cast<std::size_t>(job.node_size));
  MPI_Allgather(&process, 1, MPI_INT64_T, job.node_processes.data(), 1, MPI_INT64_T, job.node);
  MPI_Allgather(&job.rank, 1, MPI_INT, job.node_world_ranks.data(), 1, MPI_INT, job.node);
  return job;
}

Job::Job(Job&& other) noexcept
    : world(std::exchange(other.world, MPI_COMM_NULL)),
      node(std::exchange(other.node, MPI_COMM_NULL)),
      leaders(std::exchange(other.leaders, MPI_COMM_NULL)),
      rank(other.rank),
      size(other.size),
      node_rank(other.node_rank),
      node_size(other.node_size),
      node_index(other.node_index),
      nodes(other.nodes),
      host(std::move(other.host)),
      node_processes(std::move(other.node_processes)),
      node_world_ranks(std::move(other.node_world_ranks)),
      deadline_seconds(other.deadline_seconds),
      opened_hints(std::move(other.opened_hints)) {}

void Job::abandon() { world = node = leaders = MPI_COMM_NULL; }

Job::~Job() {
  for (MPI_Comm* communicator : {&leaders, &node, &world}) {
    if (*communicator != MPI_COMM_NULL) MPI_Comm_free(communicator);
  }
}

std::int64_t Job::deadline_ns() const {
  // A rank whose own call hangs must be the first to notice, because it can name the file and the
  // offset.
  constexpr double grace = 1.1;
  constexpr double grace_seconds = 2;
  return monotonic_ns() +
         static_cast<std::int64_t>((deadline_seconds * grace + grace_seconds) * 1e9);
}

Error failed_elsewhere(int rank) {
  Error error;
  error.code = ErrorCode::peer;
  error.rank = rank;
  error.message = "failed; its own message gives the reason";
  return error;
}

Status agree_on(const Job& job, Status mine, int* failed_rank, std::int64_t* wait_ns) {
  const auto agreed = agree(job.world, mine.ok() ? none_failed : job.rank, job.deadline_ns());
  return status_of(agreed, job.rank, std::move(mine), failed_rank, wait_ns);
}

Status status_of(const Result<Agreement>& agreed, int rank, Status mine, int* failed_rank,
                 std::int64_t* wait_ns) {
  if (!agreed) {
    *failed_rank = rank;
    Error error = agreed.error();
    if (!mine.ok()) error.message += "; an earlier error on this rank: " + mine.error().text();
    return error;
  }
  if (wait_ns != nullptr) *wait_ns = agreed.value().wait_ns;
  if (agreed.value().failed_rank == none_failed) return {};
  *failed_rank = agreed.value().failed_rank;
  if (mine.ok()) return failed_elsewhere(*failed_rank);
  if (mine.error().rank < 0) mine.error().rank = rank;
  return mine;
}

Result<Agreement> agree(MPI_Comm communicator, int failed_rank, std::int64_t deadline_ns,
                        Waiting waiting) {
  const std::int64_t start = monotonic_ns();
  int lowest = none_failed;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Iallreduce(&failed_rank, &lowest, 1, MPI_INT, MPI_MIN, communicator, &request);
  if (Status status = wait_for(request, deadline_ns, "barrier", waiting); !status) {
    return status.error();
  }
  return Agreement{lowest, monotonic_ns() - start};
}

}  // namespace weir::bench
