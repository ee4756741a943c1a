// Messages of MPI between simulated ranks, in memory that all have in common (messages.hpp). The
// linker directs the programs' calls here (--wrap in sim/CMakeLists.txt). A request of MPI is a
// rank's side of a message, and no request is SMPI's.
//
// Nobody but the sender of a synchronous message waits for its receiver.
#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <simgrid/s4u.hpp>
#include <utility>

#include "library/communicators.hpp"
#include "library/group.hpp"
#include "library/messages.hpp"
#include "library/simulated_rank.hpp"

namespace {

using weir::sim::bytes_of;
using weir::sim::Group;
using weir::sim::group_of;
using weir::sim::MessageSide;
using weir::sim::rank_in;
using weir::sim::SimulatedRank;
using weir::sim::this_rank;
using weir::sim::wait_for_message;

// Data pass the links of both nodes.
void add_to_links(const SimulatedRank& rank, std::int64_t to, std::int64_t count) {
  const auto bytes = static_cast<double>(count);
  const weir::sim::Description& asked = *rank.system->asked;
  if (asked.messages.bytes_per_second <= 0) return;
  weir::sim::Operations& operations = *rank.system->operations;
  const std::int64_t other = to / asked.ranks_per_node;
  const weir::sim::Machine& machine = operations.machine();
  operations.add_to_link_out_of(rank.number_of_node, bytes,
                                bytes / machine.rate_of_messages(rank.number_of_node));
  operations.add_to_link_into(other, bytes, bytes / machine.rate_of_messages(other));
}

MPI_Request request_for(SimulatedRank& rank, std::shared_ptr<MessageSide> side) {
  MessageSide* const one = side.get();
  rank.sides.emplace(one, std::move(side));
  return reinterpret_cast<MPI_Request>(one);
}

MessageSide& side_of(MPI_Request request) { return *reinterpret_cast<MessageSide*>(request); }

// A rank's place in a communicator, and what its ranks have in common.
struct Endpoint {
  SimulatedRank& rank;
  std::shared_ptr<Group> group;
  int own = 0;

  explicit Endpoint(MPI_Comm communicator)
      : rank(this_rank()), group(group_of(communicator)), own(rank_in(communicator)) {}

  [[nodiscard]] std::shared_ptr<MessageSide> side(int source, int tag, std::size_t bytes) const {
    auto made = std::make_shared<MessageSide>();
    made->system = rank.system;
    made->rank = group->world_rank(own);
    made->source = source;
    made->tag = tag;
    made->bytes = bytes;
    made->takes_time = !rank.aside;
    return made;
  }
};

void tell(MPI_Status* status, int source, int tag, std::size_t bytes, int error) {
  if (status == MPI_STATUS_IGNORE) return;
  status->MPI_SOURCE = source;
  status->MPI_TAG = tag;
  status->MPI_ERROR = error;
  status->count = static_cast<int>(bytes);
  status->cancelled = 0;
}

void tell_nothing(MPI_Status* status) { tell(status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0, MPI_SUCCESS); }

// Gives up the request of a message that has ended.
int finish(MPI_Request& request, MPI_Status* status) {
  const MessageSide* const side = &side_of(request);
  request = MPI_REQUEST_NULL;
  SimulatedRank& rank = this_rank();
  const auto held = rank.sides.extract(side);
  if (side->seconds > 0) simgrid::s4u::this_actor::sleep_for(side->seconds);
  const int code = side->is_cut ? MPI_ERR_TRUNCATE : MPI_SUCCESS;
  tell(status, side->source, side->tag, side->bytes, code);
  return code;
}

// Sends a message whose sender does not wait for its receiver. Its side has ended.
std::shared_ptr<MessageSide> send_kept(const Endpoint& end, const void* data, std::size_t bytes,
                                       int to, int tag) {
  auto side = end.side(end.own, tag, bytes);
  side->is_kept = true;
  const auto* const from = static_cast<const std::byte*>(data);
  side->kept.assign(from, from + bytes);
  side->data = side->kept.data();
  side->has_ended = true;
  end.group->post_of(to).send(side);
  if (SimulatedRank* const receiver =
          end.rank.system->ranks[static_cast<std::size_t>(end.group->world_rank(to))]) {
    tell_of_message(*receiver);
  }
  return side;
}

}  // namespace

extern "C" {

int __wrap_MPI_Send(const void* data, int count, MPI_Datatype type, int to, int tag,
                    MPI_Comm communicator) {
  const Endpoint end(communicator);
  if (end.group == nullptr) return MPI_ERR_COMM;
  send_kept(end, data, bytes_of(count, type), to, tag);
  return MPI_SUCCESS;
}

int __wrap_MPI_Isend(const void* data, int count, MPI_Datatype type, int to, int tag,
                     MPI_Comm communicator, MPI_Request* request) {
  *request = MPI_REQUEST_NULL;
  const Endpoint end(communicator);
  if (end.group == nullptr) return MPI_ERR_COMM;
  *request = request_for(end.rank, send_kept(end, data, bytes_of(count, type), to, tag));
  return MPI_SUCCESS;
}

// Messages of data, and no others, are sent so.
int __wrap_MPI_Issend(const void* data, int count, MPI_Datatype type, int to, int tag,
                      MPI_Comm communicator, MPI_Request* request) {
  *request = MPI_REQUEST_NULL;
  const Endpoint end(communicator);
  if (end.group == nullptr) return MPI_ERR_COMM;
  auto side = end.side(end.own, tag, bytes_of(count, type));
  side->data = static_cast<const std::byte*>(data);
  if (!end.rank.aside) {
    ++end.rank.messages;
    end.rank.message_bytes += static_cast<std::int64_t>(side->bytes);
    add_to_links(end.rank, end.group->world_rank(to), static_cast<std::int64_t>(side->bytes));
  }
  *request = request_for(end.rank, side);
  end.group->post_of(to).send(std::move(side));
  return MPI_SUCCESS;
}

int __wrap_MPI_Irecv(void* data, int count, MPI_Datatype type, int from, int tag,
                     MPI_Comm communicator, MPI_Request* request) {
  *request = MPI_REQUEST_NULL;
  const Endpoint end(communicator);
  if (end.group == nullptr) return MPI_ERR_COMM;
  auto side = end.side(from, tag, bytes_of(count, type));
  side->room = static_cast<std::byte*>(data);
  *request = request_for(end.rank, side);
  end.group->post_of(end.own).receive(std::move(side));
  return MPI_SUCCESS;
}

int __wrap_MPI_Test(MPI_Request* request, int* ended, MPI_Status* status) {
  *ended = *request == MPI_REQUEST_NULL || side_of(*request).has_ended ? 1 : 0;
  if (*ended == 0) return MPI_SUCCESS;
  if (*request != MPI_REQUEST_NULL) return finish(*request, status);
  tell_nothing(status);
  return MPI_SUCCESS;
}

int __wrap_MPI_Testsome(int count, MPI_Request* requests, int* ended, int* which,
                        MPI_Status* statuses) {
  *ended = MPI_UNDEFINED;
  int code = MPI_SUCCESS;
  for (int number = 0; number < count; ++number) {
    if (requests[number] == MPI_REQUEST_NULL) continue;
    if (*ended == MPI_UNDEFINED) *ended = 0;
    if (!side_of(requests[number]).has_ended) continue;
    MPI_Status* const status = statuses == MPI_STATUSES_IGNORE ? nullptr : statuses + *ended;
    if (finish(requests[number], status) != MPI_SUCCESS) code = MPI_ERR_IN_STATUS;
    which[(*ended)++] = number;
  }
  return code;
}

int __wrap_MPI_Wait(MPI_Request* request, MPI_Status* status) {
  if (*request == MPI_REQUEST_NULL) {
    tell_nothing(status);
    return MPI_SUCCESS;
  }
  while (!side_of(*request).has_ended) wait_for_message();
  return finish(*request, status);
}

int __wrap_MPI_Recv(void* data, int count, MPI_Datatype type, int from, int tag,
                    MPI_Comm communicator, MPI_Status* status) {
  MPI_Request request = MPI_REQUEST_NULL;
  const int code = __wrap_MPI_Irecv(data, count, type, from, tag, communicator, &request);
  return code == MPI_SUCCESS ? __wrap_MPI_Wait(&request, status) : code;
}

int __wrap_MPI_Iprobe(int from, int tag, MPI_Comm communicator, int* found, MPI_Status* status) {
  const Endpoint end(communicator);
  if (end.group == nullptr) return MPI_ERR_COMM;
  const MessageSide* const sent = end.group->post_of(end.own).find(from, tag);
  *found = sent == nullptr ? 0 : 1;
  if (sent != nullptr) tell(status, sent->source, sent->tag, sent->bytes, MPI_SUCCESS);
  return MPI_SUCCESS;
}

int __wrap_MPI_Probe(int from, int tag, MPI_Comm communicator, MPI_Status* status) {
  while (true) {
    int found = 0;
    const int code = __wrap_MPI_Iprobe(from, tag, communicator, &found, status);
    if (code != MPI_SUCCESS || found != 0) return code;
    wait_for_message();
  }
}

}  // extern "C"
