// The communicator of a session, which all its messages use, and the ranks while the session is
// being opened, before they have the memory of a node and a queue of calls
// (aggregation/call_queue.hpp). All waits end at the deadline, or when MPI fails on any rank.
// Either leaves messages under way, so that nothing of the session can be freed.
#pragma once

#include <mpi.h>

#include <memory>
#include <string>

#include "aggregation/agreement.hpp"
#include "capi/outcome.hpp"
#include "ranks/channel.hpp"

namespace weir::capi {

class Ranks {
 public:
  Ranks() = default;
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;
  ~Ranks() = default;  // without free() the communicator is kept, because freeing it is collective

  // Duplicates the communicator. Collective over `communicator`.
  Outcome open(MPI_Comm communicator, double deadline_seconds);
  // Frees the communicator. Collective. Does nothing after a failure of open() or broken().
  void free();

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] MPI_Comm communicator() const { return communicator_; }
  // Returns whether messages are still under way after a failure.
  [[nodiscard]] bool broken() const { return broken_; }
  // Agrees on a call, or on how it has gone so far. All ranks return the error of the lowest rank
  // that failed, which names that rank.
  Outcome agree(const aggregation::Call& call);
  // Sends rank 0's text to all ranks.
  Outcome share(std::string& text);

 private:
  // Returns the outcome of a wait.
  Outcome ended(const Status& waited);

  std::unique_ptr<ranks::Channel> channel_;
  MPI_Comm communicator_ = MPI_COMM_NULL;
  int rank_ = 0;
  double deadline_seconds_ = 0;
  bool broken_ = false;
};

}  // namespace weir::capi
