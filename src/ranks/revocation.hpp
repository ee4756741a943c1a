// How one rank's failure to communicate ends all waiting of a session, on every rank: what ULFM
// calls revoking a communicator. After a message has failed, ranks that wait for it would wait for
// ever, and the rank that saw the failure cannot take part in a vote any more, since it does not
// know which of its messages are still to come. So the session is given up as a whole, for one
// reason that all ranks can name.
//
//   any rank   revoke(error): writes the error to memory that its node shares, unless another rank
//              was first, and wakes the node's ranks
//   any rank   that was first to revoke, so that a leader that is stopped or has ended keeps nobody
//              from knowing, and every leader (the first rank of a node) sends the error once to
//              the leaders of the nodes whose number differs from its own by a power of two
//   leader     that receives an error writes it to its node's memory, and sends it on
//   any rank   sees is_revoked() at its next look, and leaves its wait with that error; a leader
//              sends the error on before it leaves
//
// Each of them sends 2 log2(nodes) messages, and the error still reaches every leader when some of
// these fail, as each has that many ways to learn of it. Leaders take and send these messages only
// while they wait in the library or begin a wait. A node of which no rank can send is what the
// deadline of each wait is for.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "common/status.hpp"
#include "ranks/error_message.hpp"

namespace weir::ranks {

// Point-to-point messages of other kinds on the same communicator need other tags.
inline constexpr int revocation_tag = 31;

class Revocation {
 public:
  static constexpr std::size_t memory_bytes = 2304;
  // Called once, by one rank, before the others make their Revocation.
  static void prepare(std::byte* memory);

  // How a rank reaches the leaders of other nodes.
  struct Nodes {
    MPI_Comm communicator = MPI_COMM_NULL;  // of all ranks; null where there is one node only
    std::int64_t count = 1;
    std::int64_t own = 0;
    bool is_leader = false;                           // of its node
    std::function<int(std::int64_t node)> leader_of;  // a rank of the communicator
  };
  // `memory`: memory_bytes at a multiple of 64, shared by the ranks of the node. `moving`: a
  // communicator of this rank, null where there is no MPI. `rank`: this rank in the session, for
  // errors. The communicators are not owned.
  Revocation(std::byte* memory, Nodes nodes, MPI_Comm moving, int rank);
  // Without shared memory: every rank of the communicator, which is Weir's own, is a node.
  explicit Revocation(MPI_Comm communicator);
  // Known to this rank alone, while the session has no communicator of its own yet. No message is
  // sent or received on `moving`.
  struct Local {};
  Revocation(Local local, MPI_Comm moving);
  Revocation(const Revocation&) = delete;
  Revocation& operator=(const Revocation&) = delete;
  ~Revocation();

  // `wake` makes sleeping ranks of the node look around; called by the rank that revokes.
  void wake_by(std::function<void()> wake) { wake_ = std::move(wake); }
  // `watch` looks whether something has happened that revokes the session, and may call revoke();
  // called in each look().
  void watch_by(std::function<void()> watch) { watch_ = std::move(watch); }

  // A rank that has to send the error to other leaders does so before it is told.
  [[nodiscard]] bool is_revoked();
  // The first error that revoked the session, as this node knows it. Valid when is_revoked().
  [[nodiscard]] Error error() const;
  // Local. Later errors change nothing.
  void revoke(const Error& error);
  // Lets MPI move on, and takes or sends on what revokes the session; called by every wait, now and
  // then. Returns at once.
  void look();

 private:
  struct Memory;
  struct Notices;  // what is received and sent
  void take_notices();
  void send_notices();
  // False: another error was first.
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
  bool sends_ = false;  // notices, once the session is revoked
  bool sent_ = false;
  std::unique_ptr<Notices> notices_;
  std::function<void()> wake_;
  std::function<void()> watch_;
};

}  // namespace weir::ranks
