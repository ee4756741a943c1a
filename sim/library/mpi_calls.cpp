// Calls of MPI that SMPI has not, or carries out by messages of all with all. The linker directs
// the library's calls here (--wrap in sim/CMakeLists.txt). A blocking call blocks a simulated rank
// and no other, so that its operation has ended when the call returns.
#include <mpi.h>

#include <cstddef>
#include <cstring>
#include <vector>

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

// Values are gathered, and each rank combines those of the ranks before it.
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
  std::vector<std::byte> all(bytes * static_cast<std::size_t>(size));
  const int code = MPI_Allgather(mine, count, type, all.data(), count, type, communicator);
  if (code != MPI_SUCCESS || rank == 0) return code;
  std::memcpy(before, all.data(), bytes);
  for (int from = 1; from < rank; ++from) {
    MPI_Reduce_local(all.data() + static_cast<std::size_t>(from) * bytes, before, count, type,
                     operation);
  }
  return MPI_SUCCESS;
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
  ++rank.messages;
  rank.message_bytes += count;
  const int sent = __real_MPI_Issend(data, count, type, to, tag, communicator, request);
  tell_receiver(to, communicator);
  return sent;
}

}  // extern "C"
