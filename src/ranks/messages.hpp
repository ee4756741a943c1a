// Every message of the library is begun, tested and waited for here, and nowhere else, so that none
// fails unseen: what MPI returns becomes an Error, and the length of what has come is compared with
// what was expected.
//
// A caller that gets an error from one of these functions revokes the session (revocation.hpp),
// except from wait_for() and meet(), which have done so. Memory that a message under way names must
// stay until the message has ended; after an error or a missed deadline nobody can tell when that
// is, so the memory stays for good (KeptUntilDone in waiting.hpp).
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/status.hpp"
#include "ranks/life_signs.hpp"
#include "ranks/revocation.hpp"

namespace weir::ranks {

// A message or collective operation under way, or none.
class Pending {
 public:
  [[nodiscard]] bool is_under_way() const { return request_ != MPI_REQUEST_NULL; }

 private:
  friend class PendingSet;
  friend struct Begin;
  friend Result<bool> test(Pending& pending);
  static constexpr std::int64_t any_length = -1;

  MPI_Request request_ = MPI_REQUEST_NULL;
  std::int64_t expected_ = any_length;  // bytes to be received
};

// Each of these begins one operation on `pending`, which has none under way. Lengths are in bytes,
// below 2^31. `from` may be MPI_ANY_SOURCE.
[[nodiscard]] Status send(Pending& pending, const void* data, std::int64_t bytes, int to, int tag,
                          MPI_Comm communicator);
// Ends only when the receiver has begun to receive it.
[[nodiscard]] Status send_synchronously(Pending& pending, const void* data, std::int64_t bytes,
                                        int to, int tag, MPI_Comm communicator);
// A message of another length is an error when it has come.
[[nodiscard]] Status receive(Pending& pending, void* data, std::int64_t bytes, int from, int tag,
                             MPI_Comm communicator);
[[nodiscard]] Status duplicate(Pending& pending, MPI_Comm communicator, MPI_Comm& made);
[[nodiscard]] Status broadcast(Pending& pending, void* data, std::int64_t bytes, int root,
                               MPI_Comm communicator);
[[nodiscard]] Status reduce_to_all(Pending& pending, const void* mine, void* all, int count,
                                   MPI_Datatype type, MPI_Op operation, MPI_Comm communicator);
[[nodiscard]] Status gather_at_all(Pending& pending, const void* mine, int count, void* all,
                                   MPI_Datatype type, MPI_Comm communicator);
// Rank i of the communicator gives counts[i] values, which come to lie at places[i].
[[nodiscard]] Status gather_at_all(Pending& pending, const void* mine, int count, void* all,
                                   std::span<const int> counts, std::span<const int> places,
                                   MPI_Datatype type, MPI_Comm communicator);
[[nodiscard]] Status gather_at_first(Pending& pending, const void* mine, int count, void* all,
                                     MPI_Datatype type, MPI_Comm communicator);
[[nodiscard]] Status gather_at_first(Pending& pending, const void* mine, int count, void* all,
                                     std::span<const int> counts, std::span<const int> places,
                                     MPI_Datatype type, MPI_Comm communicator);

// Whether the operation has ended; true when none is under way.
[[nodiscard]] Result<bool> test(Pending& pending);

// Whether a message with the tag could be received at once. MPI moves all its messages on
// meanwhile.
[[nodiscard]] Result<bool> probe(MPI_Comm communicator, int tag);

// Many messages that are tested by one call of MPI.
class PendingSet {
 public:
  // Forgets all messages; none is under way.
  void clear();
  // Takes over what was begun on `pending`. Messages are numbered from 0 on.
  void add(Pending& pending);
  [[nodiscard]] std::size_t under_way() const { return under_way_; }
  // Numbers of the messages that have ended since the last call; valid until the next one.
  [[nodiscard]] Result<std::span<const int>> test_some();

 private:
  std::size_t under_way_ = 0;
  std::vector<MPI_Request> requests_;
  std::vector<std::int64_t> expected_;
  std::vector<int> ended_;
  std::vector<MPI_Status> statuses_;
};

// Waits until the operation has ended, the session is revoked, or the deadline has passed. An error
// of MPI revokes the session. `life`: of the processes that are waited for, so that the deadline
// counts only while they are silent; null: it counts always.
[[nodiscard]] Status wait_for(Pending& pending, Revocation& revocation, double deadline_seconds,
                              const char* what, LifeSigns* life = nullptr);

// Collective: ends on all ranks once all have come. Calls that MPI has only in blocking forms
// follow one of these, with nothing in between that could keep a rank.
[[nodiscard]] Status meet(MPI_Comm communicator, Revocation& revocation, double deadline_seconds,
                          const char* what);

// What a call of MPI returned, for those that have no nonblocking form.
[[nodiscard]] Status status_of(int code, const char* operation);

// Whether ranks can no longer communicate after this error: it is of a missed deadline or of MPI.
[[nodiscard]] bool ends_communication(const Error& error);

}  // namespace weir::ranks
