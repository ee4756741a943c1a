// Counts the calls that a node's client of a network file system has sent to its servers, as the
// kernel counts them: for NFS in /proc/self/mountstats. The counters include the calls of all
// processes that use the mount.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "measurement/job.hpp"

namespace weir::bench {

// Number of calls by the protocol's name of the call, such as GETATTR.
using CallCounts = std::map<std::string, std::int64_t>;

// Returns the calls since the file system was mounted, from the text of /proc/self/mountstats.
// Returns nothing if the file system at `point` has no such counters. Pure.
[[nodiscard]] std::optional<CallCounts> parse_mountstats(std::string_view text,
                                                         std::string_view point);
// Returns the calls that happened between two counts: only those whose number has grown. Pure.
[[nodiscard]] CallCounts calls_between(const CallCounts& before, const CallCounts& after);

class ClientCalls {
 public:
  ClientCalls() = default;  // counts nothing
  // `counters` is the path of a file like /proc/self/mountstats; `point` is the mount point.
  ClientCalls(std::string counters, std::string point)
      : counters_(std::move(counters)), point_(std::move(point)) {}
  [[nodiscard]] static ClientCalls of(const std::string& directory);

  // Returns the calls up to now, or nothing if this object counts nothing.
  [[nodiscard]] std::optional<CallCounts> now() const;

 private:
  std::string counters_;
  std::string point_;
};

// Returns the sum of the counts of the ranks with node_rank 0, or nothing if one of them has no
// counts. Collective; the result is on rank 0.
[[nodiscard]] std::optional<CallCounts> sum_over_nodes(const Job& job,
                                                       const std::optional<CallCounts>& mine);

}  // namespace weir::bench
