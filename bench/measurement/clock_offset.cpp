// The protocol. Every rank is a child once and a parent up to log2(P) times in a binomial tree, so
// that the longest path has O(log P) exchanges:
//
//   1. A barrier with a deadline. A rank that passes it knows that every rank has arrived, so the
//      calls of step 2, which have no deadline, do not wait for a missing rank.
//   2. The ranks split by node; the lowest rank of each node is its leader.
//   3. Leaders measure along a tree over the leaders, towards rank 0.
//   4. The ranks of a node that read the same clock as their leader take its offset, along a tree.
//      Calls without a deadline find these ranks, as in step 2. Between processes that share a
//      processor no exchange could be as exact, since each message waits for its receiver's turn.
//   5. The ranks with another clock measure along a tree inside the node, towards their leader,
//      which already knows its own offset from rank 0.
//
// Two processes read the same clock if they run on one booted kernel, in one time namespace.
//
// A link. The child sends PING at its time t1; the parent answers with its time p; the child
// receives the answer at t4. The answer was stamped at some moment between t1 and t4 on the child's
// clock, so parent - child lies in [p - t4, p - t1], and the middle is wrong by at most half the
// round trip. The shortest of several exchanges is kept. The child then sends DONE, and the parent
// answers with its own offset from rank 0, its bound and its distance; offsets and bounds add up.
//
// Clocks drift against each other while the tree is measured. Oscillators of servers are within 50
// ppm of the true rate and NTP slews by at most 500 ppm, so every link on the path adds
// `drift_rate` times the duration of the whole estimate to the bound.
#include "measurement/clock_offset.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "common/clock.hpp"
#include "ranks/mpi_error.hpp"

namespace weir::bench {
namespace {

constexpr int exchanges_per_link = 32;
constexpr int least_exchanges = 4;
constexpr std::int64_t link_budget_ns = 20'000'000;
constexpr double drift_rate = 600e-6;

constexpr std::int64_t ping = 0;
constexpr std::int64_t done = 1;
constexpr int request_tag = 1;
constexpr int answer_tag = 2;

using Message = std::array<std::int64_t, 3>;  // requests: {kind}; answers: {time} or a Path

// The path from one rank to the root of the tree: root's time = local time + offset.
struct Path {
  std::int64_t offset_ns = 0;
  std::int64_t error_bound_ns = 0;
  std::int64_t links = 0;
};

// A communicator that frees itself.
class OwnedComm {
 public:
  OwnedComm() = default;
  OwnedComm(const OwnedComm&) = delete;
  OwnedComm& operator=(const OwnedComm&) = delete;
  ~OwnedComm() {
    if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
  }
  MPI_Comm comm = MPI_COMM_NULL;
};

Error mpi_failure(const char* call, int code) {
  Error error;
  error.code = ErrorCode::peer;
  error.operation = "clock offset";
  error.message = fmt::format("clock offset: {} failed: {}", call, ranks::mpi_error_text(code));
  return error;
}

Status finish(MPI_Request& request, std::int64_t deadline_ns, const char* waiting_for) {
  for (;;) {
    int complete = 0;
    if (const int code = MPI_Test(&request, &complete, MPI_STATUS_IGNORE); code != MPI_SUCCESS)
      return mpi_failure("MPI_Test", code);
    if (complete != 0) return {};
    if (monotonic_ns() > deadline_ns) {
      Error error;
      error.code = ErrorCode::deadline;
      error.operation = "clock offset";
      error.message = fmt::format("clock offset: no {} before the deadline", waiting_for);
      return error;
    }
    sched_yield();  // lets the partner run where they share a processor
  }
}

Status send(MPI_Comm comm, int to, int tag, const Message& message, std::int64_t deadline_ns) {
  MPI_Request request = MPI_REQUEST_NULL;
  const int code = MPI_Isend(message.data(), static_cast<int>(message.size()), MPI_INT64_T, to, tag,
                             comm, &request);
  if (code != MPI_SUCCESS) return mpi_failure("MPI_Isend", code);
  return finish(request, deadline_ns, "buffer space for a message");
}

Result<Message> receive(MPI_Comm comm, int from, int tag, std::int64_t deadline_ns) {
  Message message{};
  MPI_Request request = MPI_REQUEST_NULL;
  const int code = MPI_Irecv(message.data(), static_cast<int>(message.size()), MPI_INT64_T, from,
                             tag, comm, &request);
  if (code != MPI_SUCCESS) return mpi_failure("MPI_Irecv", code);
  if (Status status = finish(request, deadline_ns, "message of a partner"); !status) {
    // The buffer goes out of scope, so the receive must not stay posted.
    if (request != MPI_REQUEST_NULL && MPI_Cancel(&request) == MPI_SUCCESS)
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    return status.error();
  }
  return message;
}

Result<Path> measure_as_child(MPI_Comm comm, int parent, std::int64_t deadline_ns) {
  const std::int64_t began_ns = monotonic_ns();
  std::int64_t least_round_trip = std::numeric_limits<std::int64_t>::max();
  std::int64_t offset_to_parent = 0;
  for (int exchange = 0; exchange < exchanges_per_link; ++exchange) {
    if (exchange >= least_exchanges && monotonic_ns() - began_ns > link_budget_ns) break;
    const std::int64_t sent_ns = monotonic_ns();
    if (Status status = send(comm, parent, request_tag, {ping}, deadline_ns); !status)
      return status.error();
    const Result<Message> answer = receive(comm, parent, answer_tag, deadline_ns);
    if (!answer) return answer.error();
    const std::int64_t received_ns = monotonic_ns();
    const std::int64_t round_trip = received_ns - sent_ns;
    if (round_trip < least_round_trip) {
      least_round_trip = round_trip;
      offset_to_parent = answer.value()[0] - (sent_ns + round_trip / 2);
    }
  }
  if (Status status = send(comm, parent, request_tag, {done}, deadline_ns); !status)
    return status.error();
  const Result<Message> answer = receive(comm, parent, answer_tag, deadline_ns);
  if (!answer) return answer.error();
  const auto& [offset, bound, links] = answer.value();
  return Path{.offset_ns = offset + offset_to_parent,
              .error_bound_ns = bound + (least_round_trip + 1) / 2,
              .links = links + 1};
}

Status serve_as_parent(MPI_Comm comm, int child, const Path& own, std::int64_t deadline_ns) {
  for (;;) {
    const Result<Message> request = receive(comm, child, request_tag, deadline_ns);
    if (!request) return request.error();
    if (request.value()[0] == done)
      return send(comm, child, answer_tag, {own.offset_ns, own.error_bound_ns, own.links},
                  deadline_ns);
    if (Status status = send(comm, child, answer_tag, {monotonic_ns()}, deadline_ns); !status)
      return status;
  }
}

// The binomial tree of MPI broadcasts: the parent of a rank is the rank without its highest bit.
struct Tree {
  explicit Tree(MPI_Comm comm) {
    int rank = 0;
    int size = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    std::int64_t bit = 1;  // the smallest power of two above rank
    while (bit <= rank) bit *= 2;
    if (rank != 0) parent = static_cast<int>(rank - bit / 2);
    for (; rank + bit < size; bit *= 2) children.push_back(static_cast<int>(rank + bit));
  }
  int parent = -1;  // -1 on rank 0
  std::vector<int> children;
};

// Measures the path of each rank. `root_path` is the path of comm's rank 0.
Result<Path> measure_along_tree(MPI_Comm comm, const Path& root_path, std::int64_t deadline_ns) {
  const Tree tree(comm);
  Path path = root_path;
  if (tree.parent >= 0) {
    Result<Path> own = measure_as_child(comm, tree.parent, deadline_ns);
    if (!own) return own;
    path = own.value();
  }
  for (const int child : tree.children) {
    if (Status status = serve_as_parent(comm, child, path, deadline_ns); !status)
      return status.error();
  }
  return path;
}

Status all_arrived(MPI_Comm comm, std::int64_t deadline_ns) {
  MPI_Request request = MPI_REQUEST_NULL;
  if (const int code = MPI_Ibarrier(comm, &request); code != MPI_SUCCESS)
    return mpi_failure("MPI_Ibarrier", code);
  return finish(request, deadline_ns, "arrival of every rank");
}

Status split(MPI_Comm comm, int rank, OwnedComm& node, OwnedComm& leaders) {
  int code = MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node.comm);
  if (code != MPI_SUCCESS) return mpi_failure("MPI_Comm_split_type", code);
  int node_rank = 0;
  MPI_Comm_rank(node.comm, &node_rank);
  code = MPI_Comm_split(comm, node_rank == 0 ? 0 : MPI_UNDEFINED, rank, &leaders.comm);
  if (code != MPI_SUCCESS) return mpi_failure("MPI_Comm_split", code);
  return {};
}

// Identifies the clock that CLOCK_MONOTONIC reads: equal texts mean the same clock. The text is
// empty if the system does not say.
std::string clock_identity() {
  std::ifstream from("/proc/sys/kernel/random/boot_id");
  std::string boot;
  std::getline(from, boot);
  std::error_code error;
  const auto space = std::filesystem::read_symlink("/proc/self/ns/time", error);
  if (boot.empty() || error) return "";
  return boot + " " + space.string();
}

// Splits the node's ranks into those that read their leader's clock and those that do not. The
// leader is in both.
Status split_by_clock(MPI_Comm node, Clocks clocks, OwnedComm& same, OwnedComm& others) {
  int rank = 0;
  MPI_Comm_rank(node, &rank);
  const std::string own = clock_identity();
  std::array<char, 128> leaders{};
  own.copy(leaders.data(), leaders.size() - 1);
  int code = MPI_Bcast(leaders.data(), static_cast<int>(leaders.size()), MPI_CHAR, 0, node);
  if (code != MPI_SUCCESS) return mpi_failure("MPI_Bcast", code);
  const bool is_same =
      clocks == Clocks::as_the_system_says && !own.empty() && own == leaders.data();
  for (const auto& [comm, in] : {std::pair{&same, is_same}, std::pair{&others, !is_same}}) {
    code = MPI_Comm_split(node, in || rank == 0 ? 0 : MPI_UNDEFINED, rank, &comm->comm);
    if (code != MPI_SUCCESS) return mpi_failure("MPI_Comm_split", code);
  }
  return {};
}

// Distributes the path of rank 0 to all ranks of `comm`.
Result<Path> take_along_tree(MPI_Comm comm, const Path& root_path, std::int64_t deadline_ns) {
  const Tree tree(comm);
  Path path = root_path;
  if (tree.parent >= 0) {
    const Result<Message> told = receive(comm, tree.parent, answer_tag, deadline_ns);
    if (!told) return told.error();
    const auto& [offset, bound, links] = told.value();
    path = {.offset_ns = offset, .error_bound_ns = bound, .links = links};
  }
  for (const int child : tree.children) {
    if (Status status = send(comm, child, answer_tag,
                             {path.offset_ns, path.error_bound_ns, path.links}, deadline_ns);
        !status)
      return status.error();
  }
  return path;
}

}  // namespace

Result<ClockOffset> estimate_clock_offset(MPI_Comm comm, std::int64_t deadline_ns, Clocks clocks) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  if (Status status = all_arrived(comm, deadline_ns); !status) return status.error();
  const std::int64_t began_ns = monotonic_ns();
  OwnedComm node;
  OwnedComm leaders;
  OwnedComm same;
  OwnedComm others;
  if (Status status = split(comm, rank, node, leaders); !status) return status.error();
  if (Status status = split_by_clock(node.comm, clocks, same, others); !status)
    return status.error();

  Path leader_path;
  if (leaders.comm != MPI_COMM_NULL) {
    const Result<Path> path = measure_along_tree(leaders.comm, Path{}, deadline_ns);
    if (!path) return path.error();
    leader_path = path.value();
  }
  Result<Path> path = leader_path;
  if (same.comm != MPI_COMM_NULL) path = take_along_tree(same.comm, leader_path, deadline_ns);
  if (path && others.comm != MPI_COMM_NULL) {
    path = measure_along_tree(others.comm, leader_path, deadline_ns);
  }
  if (!path) return path.error();

  const std::int64_t now_ns = monotonic_ns();
  const double drift_ns =
      drift_rate * static_cast<double>(now_ns - began_ns) * static_cast<double>(path.value().links);
  return ClockOffset{.offset_ns = path.value().offset_ns,
                     .error_bound_ns = path.value().error_bound_ns +
                                       static_cast<std::int64_t>(std::ceil(drift_ns)),
                     .measured_at_ns = now_ns};
}

ClockOffset interpolate(const ClockOffset& start, const ClockOffset& end, std::int64_t local_ns) {
  ClockOffset between{.offset_ns = start.offset_ns,
                      .error_bound_ns = std::max(start.error_bound_ns, end.error_bound_ns),
                      .measured_at_ns = local_ns};
  const std::int64_t span_ns = end.measured_at_ns - start.measured_at_ns;
  if (local_ns <= start.measured_at_ns || span_ns <= 0) return between;
  const double share = std::min(
      1.0, static_cast<double>(local_ns - start.measured_at_ns) / static_cast<double>(span_ns));
  const double drift_ns = static_cast<double>(end.offset_ns - start.offset_ns);
  between.offset_ns += std::llround(share * drift_ns);
  return between;
}

}  // namespace weir::bench
