// Ends all waits of a session, on every rank, when one rank fails to communicate; ULFM calls this
// revoking a communicator. After a message has failed, ranks that wait for it would wait
// indefinitely. The rank that saw the failure cannot take part in a vote any more, since it does
// not know which of its messages are still to come. The session is therefore given up as a whole,
// for one reason that all ranks can name.
//
//   any rank     that calls revoke(error) writes the error to the memory that its node shares,
//                unless another rank was first, and wakes the node's ranks
//   first rank   to revoke, and every leader (the first rank of a node), sends the error once to
//                the leaders of the nodes whose number differs from its own by a power of two;
//                since the first rank does so too, a leader that is stopped or has ended keeps no
//                rank uninformed
//   leader       that receives an error writes it to its node's memory, and sends it on
//   any rank     notices is_revoked() at its next check, and leaves its wait with that error; a
//                leader sends the error on before it leaves
//
// Each of these ranks sends 2 log2(nodes) messages. Every leader can learn of the error in as many
// ways, so the error reaches it even if some messages fail. Leaders receive and send these messages
// only while they wait in the library or begin a wait. The deadline of each wait covers the case of
// a node of which no rank can send.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "common/status.hpp"
#include "ranks/error_message.hpp"

namespace weir::ranks {

// Other kinds of point-to-point messages on the same communicator need other tags.
inline constexpr int revocation_tag = 31;

class Revocation {
 public:
  static constexpr std::size_t memory_bytes = 3200;
  // Called once, by one rank, before the others create their Revocation.
  static void prepare(std::byte* memory);

  // Data with which a rank reaches the leaders of other nodes.
  struct Nodes {
    MPI_Comm communicator = MPI_COMM_NULL;  // of all ranks; null if there is only one node
    std::int64_t count = 1;
    std::int64_t own = 0;
    bool is_leader = false;                           // of its node
    std::function<int(std::int64_t node)> leader_of;  // a rank of the communicator
  };
  // `memory`: memory_bytes bytes, aligned to 64, shared by the ranks of the node. `moving`: a
  // communicator of this rank, used to let MPI make progress; null if there is no MPI. `rank`: this
  // rank in the session, for error messages. The communicators are not owned.
  Revocation(std::byte* memory, Nodes nodes, MPI_Comm moving, int rank);
  // Uses no shared memory: every rank of the communicator, which belongs to Weir, counts as a node.
  // If MPI does not tell this rank its place, the session is revoked from the beginning. The error
  // then goes to the first two ranks, of which at least one is another rank and sends it on.
  explicit Revocation(MPI_Comm communicator);
  // A revocation that only this rank sees, while the session has no communicator of its own yet. No
  // message is sent or received on `moving`. If MPI does not tell this rank its place, place_told()
  // says so: all ranks go on until the session has a communicator by which they can be told.
  struct Local {};
  Revocation(Local local, MPI_Comm moving);
  Revocation(const Revocation&) = delete;
  Revocation& operator=(const Revocation&) = delete;
  ~Revocation();

  // Returns this rank in the session; -1 if MPI did not tell it.
  [[nodiscard]] int rank() const { return rank_; }
  // Returns why MPI did not tell this rank its place, if it did not.
  [[nodiscard]] const Status& place_told() const { return place_told_; }

  // Sets `wake`, which wakes the sleeping ranks of the node; the rank that revokes calls it.
  void wake_by(std::function<void()> wake) { wake_ = std::move(wake); }
  // Sets `watch`, which checks for events that revoke the session, and may call revoke(). Each
  // look() calls it.
  void watch_by(std::function<void()> watch) { watch_ = std::move(watch); }

  // Returns whether the session is revoked. A rank that has to send the error to other leaders does
  // so before this returns true.
  [[nodiscard]] bool is_revoked();
  // Returns the first error that revoked the session, as this node knows it. Valid if is_revoked().
  [[nodiscard]] Error error() const;
  // Revokes the session. The call is local. Later errors change nothing.
  void revoke(const Error& error);
  // Lets MPI make progress, and receives or sends on notices that revoke the session. Every wait
  // calls it now and then. Returns at once.
  void look();

 private:
  struct Memory;
  struct Notices;  // the messages that are received and sent
  void take_notices();
  void send_notices();
  // Returns the nodes to whose leaders this rank sends the error, in ascending order.
  [[nodiscard]] std::vector<std::int64_t> to_be_told() const;
  // Returns false if another error was first.
  bool write(const ErrorMessage& message);

  struct Freed {
    void operator()(std::byte* memory) const;
  };
  void make_own_memory();
  std::unique_ptr<std::byte, Freed> own_memory_;
  Memory* memory_ = nullptr;
  Nodes nodes_;
  MPI_Comm moving_ = MPI_COMM_NULL;
  int rank_ = -1;
  Status place_told_;
  bool sends_ = false;  // whether this rank sends notices once the session is revoked
  bool sent_ = false;
  std::unique_ptr<Notices> notices_;
  std::function<void()> wake_;
  std::function<void()> watch_;
};

}  // namespace weir::ranks
