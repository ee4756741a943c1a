// The only place where the library begins, tests and waits for messages, so that no failure goes
// unnoticed: a return code of MPI becomes an Error, and the length of a received message is
// compared with the expected length.
//
// A caller that gets an error from one of these functions revokes the session (revocation.hpp),
// except after wait_for() and meet(), which have already done so. Memory that belongs to a message
// under way must stay valid until the message has ended. After an error or a missed deadline it is
// unknown when that is, so the memory is never freed (KeptUntilDone in waiting.hpp).
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

// A message or collective operation under way, or no operation.
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

// Each of the following functions begins one operation on `pending`, which must have none under
// way. Lengths are in bytes, below 2^31. `from` may be MPI_ANY_SOURCE.
[[nodiscard]] Status send(Pending& pending, const void* data, std::int64_t bytes, int to, int tag,
                          MPI_Comm communicator);
// Like send(), but the operation ends only after the receiver has begun to receive the message.
[[nodiscard]] Status send_synchronously(Pending& pending, const void* data, std::int64_t bytes,
                                        int to, int tag, MPI_Comm communicator);
// Receiving a message of a different length is an error when it has arrived.
[[nodiscard]] Status receive(Pending& pending, void* data, std::int64_t bytes, int from, int tag,
                             MPI_Comm communicator);
[[nodiscard]] Status duplicate(Pending& pending, MPI_Comm communicator, MPI_Comm& made);
[[nodiscard]] Status broadcast(Pending& pending, void* data, std::int64_t bytes, int root,
                               MPI_Comm communicator);
[[nodiscard]] Status reduce_to_all(Pending& pending, const void* mine, void* all, int count,
                                   MPI_Datatype type, MPI_Op operation, MPI_Comm communicator);
[[nodiscard]] Status gather_at_all(Pending& pending, const void* mine, int count, void* all,
                                   MPI_Datatype type, MPI_Comm communicator);
// Rank i of the communicator contributes counts[i] values, which are placed at places[i].
[[nodiscard]] Status gather_at_all(Pending& pending, const void* mine, int count, void* all,
                                   std::span<const int> counts, std::span<const int> places,
                                   MPI_Datatype type, MPI_Comm communicator);
[[nodiscard]] Status gather_at_first(Pending& pending, const void* mine, int count, void* all,
                                     MPI_Datatype type, MPI_Comm communicator);
[[nodiscard]] Status gather_at_first(Pending& pending, const void* mine, int count, void* all,
                                     std::span<const int> counts, std::span<const int> places,
                                     MPI_Datatype type, MPI_Comm communicator);

// Returns whether the operation has ended; true if none is under way.
[[nodiscard]] Result<bool> test(Pending& pending);

// Returns whether a message with the tag could be received at once. The call also lets MPI make
// progress on all its messages.
[[nodiscard]] Result<bool> probe(MPI_Comm communicator, int tag);

// A set of messages that are tested by a single MPI call.
class PendingSet {
 public:
  // Removes all messages; none may be under way.
  void clear();
  // Takes over the operation begun on `pending`. Messages are numbered from 0.
  void add(Pending& pending);
  [[nodiscard]] std::size_t under_way() const { return under_way_; }
  // Returns the numbers of the messages that have ended since the last call; the result is valid
  // until the next call.
  [[nodiscard]] Result<std::span<const int>> test_some();

 private:
  std::size_t under_way_ = 0;
  std::vector<MPI_Request> requests_;
  std::vector<std::int64_t> expected_;
  std::vector<int> ended_;
  std::vector<MPI_Status> statuses_;
};

// Waits until the operation has ended, the session is revoked, or the deadline has passed. An MPI
// error revokes the session. `life`: signs of the processes that are waited for, so that the
// deadline counts only while they are silent; if null, it always counts.
[[nodiscard]] Status wait_for(Pending& pending, Revocation& revocation, double deadline_seconds,
                              const char* what, LifeSigns* life = nullptr);

// Says how long the ranks wait for each other, and for what; `life` is as for wait_for().
struct Meeting {
  Revocation& revocation;
  double deadline_seconds = 0;
  const char* what = "";
  LifeSigns* life = nullptr;
};
// Waits until an operation has ended, as wait_for() does. `begun` is the outcome of beginning it; a
// failure revokes the session.
[[nodiscard]] Status finish(const Status& begun, Pending& pending, const Meeting& meeting);

// A process's place in a communicator.
struct Place {
  int own = 0;
  int ranks = 0;
};
[[nodiscard]] Result<Place> place_in(MPI_Comm communicator);
// Frees a communicator; MPI_COMM_NULL is left as it is.
[[nodiscard]] Status free_communicator(MPI_Comm& communicator);

// Collective: returns on all ranks after all ranks have called it. MPI calls that exist only in
// blocking forms follow such a call directly, with nothing in between that could delay a rank.
[[nodiscard]] Status meet(MPI_Comm communicator, Revocation& revocation, double deadline_seconds,
                          const char* what);

// Converts the return code of an MPI call; used directly for calls that have no nonblocking form.
[[nodiscard]] Status status_of(int code, const char* operation);

// Returns whether ranks can no longer communicate after this error: it is a missed deadline or an
// error of MPI.
[[nodiscard]] bool ends_communication(const Error& error);

}  // namespace weir::ranks
