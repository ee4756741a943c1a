// Calls of MPI that SMPI has not, or carries out by messages of all with all. The linker directs
// the library's calls here (--wrap in sim/CMakeLists.txt). A blocking call blocks a simulated rank
// and no other, so that its operation has ended when the call returns.
#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "library/simulated_rank.hpp"

namespace {

// No other message of the programs that are simulated has this tag.
constexpr int own_tag = 32'000;

// Data and requests for it are sent on communicators of all ranks, in the order of the world.
void tell_receiver(int to, MPI_Comm communicator) {
  auto& ranks = weir::sim::this_rank().system->ranks;
  int size = 0;
  MPI_Comm_size(communicator, &size);
  if (static_cast<std::size_t>(size) != ranks.size()) return;
  auto* const receiver = ranks[static_cast<std::size_t>(to)];
  if (receiver != nullptr) weir::sim::tell_of_message(*receiver);
}

// Data pass the links of both nodes.
void add_to_links(const weir::sim::SimulatedRank& rank, int to, int bytes) {
  const weir::sim::Description& asked = *rank.system->asked;
  if (asked.messages.bytes_per_second <= 0) return;
  weir::sim::Operations& operations = *rank.system->operations;
  const std::int64_t other = to / asked.ranks_per_node;
  const weir::sim::Machine& machine = operations.machine();
  operations.add_to_link_out_of(rank.number_of_node, bytes,
                                bytes / machine.rate_of_messages(rank.number_of_node));
  operations.add_to_link_into(other, bytes, bytes / machine.rate_of_messages(other));
}

}  // namespace

extern "C" {

int __wrap_MPI_Comm_idup(MPI_Comm communicator, MPI_Comm* made, MPI_Request* request) {
  weir::sim::wake_looking(*weir::sim::this_rank().node);
  *request = MPI_REQUEST_NULL;
  return MPI_Comm_dup(communicator, made);
}

int __wrap_MPI_Iallreduce(const void* mine, void* all, int count, MPI_Datatype type,
                          MPI_Op operation, MPI_Comm communicator, MPI_Request* request) {
  weir::sim::wake_looking(*weir::sim::this_rank().node);
  *request = MPI_REQUEST_NULL;
  return MPI_Allreduce(mine, all, count, type, operation, communicator);
}

int __wrap_MPI_Iallgather(const void* mine, int count, MPI_Datatype type, void* all, int all_count,
                          MPI_Datatype all_type, MPI_Comm communicator, MPI_Request* request) {
  weir::sim::wake_looking(*weir::sim::this_rank().node);
  *request = MPI_REQUEST_NULL;
  return MPI_Allgather(mine, count, type, all, all_count, all_type, communicator);
}

int __wrap_MPI_Iallgatherv(const void* mine, int count, MPI_Datatype type, void* all,
                           const int* counts, const int* places, MPI_Datatype all_type,
                           MPI_Comm communicator, MPI_Request* request) {
  weir::sim::wake_looking(*weir::sim::this_rank().node);
  *request = MPI_REQUEST_NULL;
  return MPI_Allgatherv(mine, count, type, all, counts, places, all_type, communicator);
}

// Ranks exchange the sums of ever larger groups: those of the group before a rank's own come to it
// first among all that it has not seen.
int __wrap_MPI_Exscan(const void* mine, void* before, int count, MPI_Datatype type,
                      MPI_Op operation, MPI_Comm communicator) {
  int rank = 0;
  int size = 0;
  MPI_Aint lower = 0;
  MPI_Aint extent = 0;
  MPI_Comm_rank(communicator, &rank);
  MPI_Comm_size(communicator, &size);
  MPI_Type_get_extent(type, &lower, &extent);
  const auto bytes = static_cast<std::size_t>(count) * static_cast<std::size_t>(extent);
  const auto* const first = static_cast<const std::byte*>(mine);
  std::vector<std::byte> group(first, first + bytes);  // of all ranks of the group so far
  std::vector<std::byte> other(bytes);
  bool has_any_before = false;
  for (int width = 1; width < size; width *= 2) {
    const int partner = rank ^ width;
    if (partner >= size) continue;
    const int code = MPI_Sendrecv(group.data(), count, type, partner, own_tag, other.data(), count,
                                  type, partner, own_tag, communicator, MPI_STATUS_IGNORE);
    if (code != MPI_SUCCESS) return code;
    if (partner > rank) {
      MPI_Reduce_local(group.data(), other.data(), count, type, operation);
      std::swap(group, other);
      continue;
    }
    MPI_Reduce_local(other.data(), group.data(), count, type, operation);
    if (has_any_before) MPI_Reduce_local(other.data(), before, count, type, operation);
    if (!has_any_before) std::memcpy(before, other.data(), bytes);
    has_any_before = true;
  }
  return MPI_SUCCESS;
}

// The root receives one message after the other. SMPI's own root waits for any of all, and then
// looks at each of them, so that the time grows with the cube of the ranks. The others send one
// message at a time: SimGrid 3 goes through a list of all that SMPI has buffered when one arrives.
int __wrap_MPI_Gatherv(const void* mine, int count, MPI_Datatype type, void* all, const int* counts,
                       const int* places, MPI_Datatype all_type, int root, MPI_Comm communicator) {
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(communicator, &rank);
  MPI_Comm_size(communicator, &size);
  if (rank != root) return MPI_Ssend(mine, count, type, root, own_tag, communicator);
  MPI_Aint lower = 0;
  MPI_Aint extent = 0;
  MPI_Type_get_extent(all_type, &lower, &extent);
  int code = MPI_SUCCESS;
  for (int from = 0; from < size && code == MPI_SUCCESS; ++from) {
    auto* const at = static_cast<std::byte*>(all) + places[from] * extent;
    code = from == rank ? MPI_Sendrecv(mine, count, type, rank, own_tag, at, counts[from], all_type,
                                       rank, own_tag, communicator, MPI_STATUS_IGNORE)
                        : MPI_Recv(at, counts[from], all_type, from, own_tag, communicator,
                                   MPI_STATUS_IGNORE);
  }
  return code;
}

int __real_MPI_Isend(const void* data, int count, MPI_Datatype type, int to, int tag,
                     MPI_Comm communicator, MPI_Request* request);
int __wrap_MPI_Isend(const void* data, int count, MPI_Datatype type, int to, int tag,
                     MPI_Comm communicator, MPI_Request* request) {
  const int sent = __real_MPI_Isend(data, count, type, to, tag, communicator, request);
  tell_receiver(to, communicator);
  return sent;
}

// Messages of data, and no others, are sent so.
int __real_MPI_Issend(const void* data, int count, MPI_Datatype type, int to, int tag,
                      MPI_Comm communicator, MPI_Request* request);
int __wrap_MPI_Issend(const void* data, int count, MPI_Datatype type, int to, int tag,
                      MPI_Comm communicator, MPI_Request* request) {
  weir::sim::SimulatedRank& rank = weir::sim::this_rank();
  if (!rank.aside) {
    ++rank.messages;
    rank.message_bytes += count;
    add_to_links(rank, to, count);
  }
  const int sent = __real_MPI_Issend(data, count, type, to, tag, communicator, request);
  tell_receiver(to, communicator);
  return sent;
}

}  // extern "C"
