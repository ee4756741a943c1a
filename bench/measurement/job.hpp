// The MPI job as a benchmark sees it: the world, the ranks of this node, and the node leaders.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/status.hpp"
#include "measurement/opened_hints.hpp"

namespace weir::bench {

class Job {
 public:
  // Collective over `ranks`; call after MPI_Init. `deadline_seconds` bounds every wait.
  static Job create(double deadline_seconds, MPI_Comm ranks = MPI_COMM_WORLD);
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  Job(Job&& other) noexcept;
  Job& operator=(Job&&) = delete;
  ~Job();  // collective: frees the communicators; call before MPI_Finalize

  // Drops the communicators without freeing them: after a failure, other ranks may be anywhere in
  // the code.
  void abandon();

  MPI_Comm world = MPI_COMM_NULL;    // a duplicate of the communicator of all ranks
  MPI_Comm node = MPI_COMM_NULL;     // the ranks of this host
  MPI_Comm leaders = MPI_COMM_NULL;  // rank 0 of every node, in node order; null on other ranks
  int rank = 0;
  int size = 1;
  int node_rank = 0;
  int node_size = 1;
  int node_index = 0;  // 0 ≤ node_index < nodes; rank 0 of the world is on node 0
  int nodes = 1;
  std::string host;
  std::vector<std::int64_t> node_processes;  // process ids of the node's ranks, by node rank
  std::vector<int> node_world_ranks;         // world ranks of the node's ranks, by node rank
  double deadline_seconds = 600;
  std::unique_ptr<OpenedHints> opened_hints;  // on rank 0; null on other ranks

  // Returns the deadline, on monotonic_ns(), of a wait for other ranks that begins now. It is a
  // little later than the deadline of an operation.
  [[nodiscard]] std::int64_t deadline_ns() const;

 private:
  Job() = default;
};

// This value means that no rank failed. Otherwise `failed_rank` is the lowest rank that failed.
inline constexpr int none_failed = 2147483647;

// `asleep` is for ranks whose waiting must not take the processor from ranks that work. They notice
// the end of the wait up to half a millisecond later.
enum class Waiting { awake, asleep };

struct Agreement {
  int failed_rank = none_failed;  // lowest failed world rank in the communicator
  std::int64_t wait_ns = 0;       // from entering the barrier to leaving it
};

// A barrier over `communicator` at which the ranks inform each other of failures. `failed_rank` is
// the caller's world rank if it has failed, otherwise none_failed. Every rank returns the same
// failed rank, or ErrorCode::deadline.
[[nodiscard]] Result<Agreement> agree(MPI_Comm communicator, int failed_rank,
                                      std::int64_t deadline_ns, Waiting waiting = Waiting::awake);

// Agrees on a Status over the whole job. If any rank's status is an error, every rank gets an
// error: the failed rank its own, with its rank noted, and the others ErrorCode::peer.
// `failed_rank` becomes the lowest failed rank, and `wait_ns`, unless null, the time for which this
// rank waited.
[[nodiscard]] Status agree_on(const Job& job, Status mine, int* failed_rank,
                              std::int64_t* wait_ns = nullptr);
// Converts `agreed`, the result of a barrier to which `rank` brought `mine`, to the Status that
// agree_on() returns.
[[nodiscard]] Status status_of(const Result<Agreement>& agreed, int rank, Status mine,
                               int* failed_rank, std::int64_t* wait_ns);
// Returns the error that a rank gets when another rank has failed.
[[nodiscard]] Error failed_elsewhere(int rank);

// Waits for any request. Tests it until it completes and yields the processor between tests.
[[nodiscard]] Status wait_for(MPI_Request& request, std::int64_t deadline_ns, const char* what,
                              Waiting waiting = Waiting::awake);

}  // namespace weir::bench
