// Stagers that serve this job alone: programs look for stagers at other sockets. They end when the
// last session with them has been closed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "aggregation/stager_ranks.hpp"
#include "common/status.hpp"
#include "interfaces/interface.hpp"
#include "measurement/job.hpp"

namespace weir::bench {

class OwnStagers {
 public:
  // Stagers that all ranks reach over TCP, as if they were on nodes of their own. Their nodes, in
  // turn, are those of the job.
  struct Service {
    std::string name = {};  // tells it from others of this job; a part of file names
    std::int64_t stagers = 1;
    std::int64_t receivers = 0;  // threads of each that receive; 0: as usual
    std::string folder = {};     // that all nodes see and the stagers' user alone may enter
  };

  // The leader of each node starts one, which stores what it gets or drops it. Without a session it
  // ends after a minute. Collective; each rank returns its own status.
  Status start_on_nodes(const Job& job, bool drops);
  // The leaders of nodes start the stagers of a service, whose folder exists and is empty. Each
  // rank returns its own status.
  Status start_service(const Job& job, bool drops, const Service& service);
  // Opens a session whose writes go to these stagers. Collective over the session's ranks.
  [[nodiscard]] Result<std::unique_ptr<Session>> open(const Interface& interface,
                                                      SessionSettings settings) const;
  // Waits, on the leaders of nodes, until they have ended, after all sessions were closed.
  Status wait_for_end();

 private:
  std::vector<aggregation::StartedStager> started_;  // by this rank, which leads a node
  std::string socket_;                               // of the node's stager
  std::string rendezvous_;                           // "": there is one on each node
};

}  // namespace weir::bench
