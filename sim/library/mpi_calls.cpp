// Messages of MPI between simulated ranks. The linker directs the library's calls here (--wrap in
// sim/CMakeLists.txt).
#include <mpi.h>

#include <cstddef>
#include <cstdint>

#include "library/simulated_rank.hpp"

namespace {

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
