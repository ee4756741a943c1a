#include "workloads/probe/messages.hpp"

#include <mpi.h>

#include <array>

#include "common/clock.hpp"

namespace weir::bench::probe {
namespace {

constexpr int ping_tag = 1;
constexpr int stream_tag = 2;
constexpr int received_tag = 3;
constexpr std::size_t messages_on_their_way = 4;

Status send_word(const Job& job, int other, std::int64_t* word, int tag) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Isend(word, 1, MPI_INT64_T, other, tag, job.world, &request);
  return wait_for(request, job.deadline_ns(), "send");
}

Status receive_word(const Job& job, int other, std::int64_t* word, int tag) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Irecv(word, 1, MPI_INT64_T, other, tag, job.world, &request);
  return wait_for(request, job.deadline_ns(), "receive");
}

}  // namespace

Status exchange_messages(const Job& job, int other, Role role, std::int64_t messages,
                         Times* times) {
  std::int64_t word = 0;
  Status status;
  times->start_ns = monotonic_ns();
  bool sends = role == Role::sender;
  for (std::int64_t i = 0; status.ok() && i < messages; ++i) {
    status =
        sends ? send_word(job, other, &word, ping_tag) : receive_word(job, other, &word, ping_tag);
    sends = !sends;
  }
  times->end_ns = monotonic_ns();
  return status;
}

Status stream_messages(const Job& job, int other, Role role, std::byte* memory, std::int64_t bytes,
                       std::int64_t messages, Times* times) {
  std::array<MPI_Request, messages_on_their_way> requests{};
  requests.fill(MPI_REQUEST_NULL);
  const int count = static_cast<int>(bytes);
  const char* const what = role == Role::sender ? "send" : "receive";
  Status status;
  times->start_ns = monotonic_ns();
  for (std::int64_t i = 0; status.ok() && i < messages; ++i) {
    // Message i uses the slot of message i - messages_on_their_way.
    const auto slot = static_cast<std::size_t>(i) % messages_on_their_way;
    status = wait_for(requests[slot], job.deadline_ns(), what);
    if (!status) break;
    std::byte* const place = memory + static_cast<std::int64_t>(slot) * bytes;
    if (role == Role::sender) {
      MPI_Isend(place, count, MPI_BYTE, other, stream_tag, job.world, &requests[slot]);
    } else {
      MPI_Irecv(place, count, MPI_BYTE, other, stream_tag, job.world, &requests[slot]);
    }
  }
  for (MPI_Request& request : requests) {
    if (status) status = wait_for(request, job.deadline_ns(), what);
  }
  // A message that was sent may still be in flight.
  std::int64_t word = 0;
  if (status) {
    status = role == Role::receiver ? send_word(job, other, &word, received_tag)
                                    : receive_word(job, other, &word, received_tag);
  }
  times->end_ns = monotonic_ns();
  return status;
}

}  // namespace weir::bench::probe
