// A stager on each node that serves this job alone: programs look for stagers at other sockets. It
// ends when the last session with it has been closed.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "aggregation/stager_ranks.hpp"
#include "common/status.hpp"
#include "interfaces/interface.hpp"
#include "measurement/job.hpp"

namespace weir::bench {

class OwnStager {
 public:
  // The leader of each node starts one, which stores what it gets or drops it. Without a session it
  // ends after a minute. Collective; each rank returns its own status.
  Status start(const Job& job, bool drops);
  // Opens a session whose writes go to this stager. Collective over the session's ranks.
  [[nodiscard]] Result<std::unique_ptr<Session>> open(const Interface& interface,
                                                      SessionSettings settings) const;
  // Waits, on the leaders of nodes, until the stager has ended, after all sessions were closed.
  Status wait_for_end();

 private:
  std::optional<aggregation::StartedStager> started_;  // on node leaders
  std::string socket_;
};

}  // namespace weir::bench
