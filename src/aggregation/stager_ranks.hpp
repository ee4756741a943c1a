// Ranks of which each gives its processors and memory to a stager (placement `ranks`,
// docs/staging.md).
//
// clang-format off
//     stager's rank    starts a stager of its own, and sleeps until it has ended
//     other rank       is connected to the stager to which it hands over, for as long as it may
//     stager           ends when none of these ranks is connected, however they ended, and
//                      everything is stored
// clang-format on
//
// The stager is the program that `node` uses too, in a process of its own: launchers end all ranks
// of a job of which one has failed, and what was accepted is still to be stored. It inherits the
// processors of its rank.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/status.hpp"
#include "system/frame_socket.hpp"
#include "topology/stager_placement.hpp"

namespace weir::aggregation {

// A stager that this rank has started.
class StartedStager {
 public:
  static Result<StartedStager> start(const std::string& socket, std::int64_t stagers_of_node,
                                     double deadline_seconds);
  // Says how a benchmark's own stager differs from one that programs find.
  struct Own {
    bool drops = false;  // all data, instead of storing them
    // The address at which ranks reach the stager over TCP, and the folder that tells them; "":
    // only by shared memory.
    std::string listen = {};
    std::string rendezvous = {};
    std::int64_t receivers = 0;     // threads that receive what comes over TCP; 0: as usual
    std::int64_t memory_bytes = 0;  // 0: as usual
  };
  // Starts one for a benchmark, at a socket of this name beside the one where programs look.
  static Result<StartedStager> start_beside(const std::string& name, const Own& own,
                                            double deadline_seconds);
  [[nodiscard]] const std::string& socket() const { return socket_; }
  // Waits until the stager has ended, as it does when its ranks have. Fails if it did not end by
  // itself.
  [[nodiscard]] Status wait_for_end();
  // Lets it end at once, since no rank will use it.
  void stop();

 private:
  static Result<StartedStager> start_with(const std::string& socket,
                                          const std::vector<std::string>& options,
                                          double deadline_seconds);
  StartedStager(std::string socket, storage::FrameSocket watch)
      : socket_(std::move(socket)), watch_(std::move(watch)) {}

  std::string socket_;
  storage::FrameSocket watch_;  // says nothing; the stager's end closes it
};

struct DividedRanks {
  MPI_Comm program = MPI_COMM_NULL;     // of the ranks without stagers, in their order
  std::optional<StartedStager> stager;  // of this rank, which is not in `program` then
};

// Collective over `communicator`, which is Weir's. Without Where::ranks, all ranks are in
// `program`. All ranks get the error of a rank that fails.
[[nodiscard]] Result<DividedRanks> divide_ranks(MPI_Comm communicator,
                                                const topology::StagerPlacement& placement,
                                                std::int64_t ranks_per_node,
                                                double deadline_seconds);

// Returns the socket of the stager to which this process hands over since divide_ranks(); "": none.
[[nodiscard]] std::string socket_of_divided();
// Ends what divide_ranks() began on this process. MPI_Finalize does so too: it would wait for the
// stagers' ranks, and they for this process.
void leave_divided();

}  // namespace weir::aggregation
