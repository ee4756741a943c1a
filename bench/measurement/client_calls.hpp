// What a node's client of a network file system has asked of its servers, by the kernel's counters:
// of NFS, /proc/self/mountstats. They count the calls of whoever uses the mount.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "measurement/job.hpp"

namespace weir::bench {

// By the protocol's name of a call, such as GETATTR.
using CallCounts = std::map<std::string, std::int64_t>;

// Since the mount, from the text of /proc/self/mountstats. Nothing where what is mounted at `point`
// has no such counters. Pure.
[[nodiscard]] std::optional<CallCounts> parse_mountstats(std::string_view text,
                                                         std::string_view point);
// What was asked in between: only calls whose number has grown. Pure.
[[nodiscard]] CallCounts calls_between(const CallCounts& before, const CallCounts& after);

class ClientCalls {
 public:
  ClientCalls() = default;  // nothing is counted
  // `counters`: a text as /proc/self/mountstats; `point`: where the file system is mounted.
  ClientCalls(std::string counters, std::string point)
      : counters_(std::move(counters)), point_(std::move(point)) {}
  [[nodiscard]] static ClientCalls of(const std::string& directory);

  // Until now; nothing where nothing is counted.
  [[nodiscard]] std::optional<CallCounts> now() const;

 private:
  std::string counters_;
  std::string point_;
};

// The sum of what the ranks with node_rank 0 give; nothing if one of them has nothing. Collective,
// the result on rank 0.
[[nodiscard]] std::optional<CallCounts> sum_over_nodes(const Job& job,
                                                       const std::optional<CallCounts>& mine);

}  // namespace weir::bench
