#include "ranks/splitting.hpp"

namespace weir::ranks {
namespace {

template <typename Make>
Status meet_and_make(MPI_Comm communicator, const Meeting& meeting, const char* operation,
                     Make make) {
  Status met = meet(communicator, meeting.revocation, meeting.deadline_seconds, meeting.what);
  if (!met.ok()) return met;
  return unless_failed(status_of(make(), operation), meeting.revocation);
}

}  // namespace

Status unless_failed(Status called, Revocation& revocation) {
  if (!called.ok()) revocation.revoke(called.error());
  return called;
}

Result<Place> place_in(MPI_Comm communicator, Revocation& revocation) {
  auto place = place_in(communicator);
  if (!place) revocation.revoke(place.error());
  return place;
}

Status split(MPI_Comm communicator, int color, int key, const Meeting& meeting, MPI_Comm& part) {
  return meet_and_make(communicator, meeting, "MPI_Comm_split",
                       [&] { return MPI_Comm_split(communicator, color, key, &part); });
}

Status split_nodes(MPI_Comm communicator, std::int64_t ranks_per_node, const Meeting& meeting,
                   MPI_Comm& node) {
  const auto place = place_in(communicator, meeting.revocation);
  if (!place) return place.error();
  MPI_Comm sharing = MPI_COMM_NULL;
  Status made = meet_and_make(communicator, meeting, "MPI_Comm_split_type", [&] {
    return MPI_Comm_split_type(communicator, MPI_COMM_TYPE_SHARED, place.value().own, MPI_INFO_NULL,
                               &sharing);
  });
  if (!made.ok()) return made;
  if (ranks_per_node == 0) {
    node = sharing;
    return {};
  }
  const auto sharing_place = place_in(sharing, meeting.revocation);
  if (!sharing_place) return sharing_place.error();
  const int own = sharing_place.value().own;
  made = split(sharing, static_cast<int>(own / ranks_per_node), own, meeting, node);
  if (!made.ok()) return made;
  return unless_failed(free_communicator(sharing), meeting.revocation);
}

}  // namespace weir::ranks
