// A stager placement says where stagers run (docs/staging.md), as a user chooses it, before the
// ranks of a node are known.
//
//     text          stagers
//     "none"        none: the ranks write
//     "node"        a process of each node, which sessions find or start
//     "ranks"       the last rank of each node
//     "ranks:2"     the last 2 ranks of each node
//     "ranks:1/8"   one in 8 ranks of each node, the last of every 8
//     "service:F"   processes on nodes of their own, which file or folder F names
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/status.hpp"

namespace weir::topology {

class StagerPlacement {
 public:
  // The largest number of ranks in a text.
  static constexpr std::int64_t most_ranks = INT32_MAX;

  enum class Where : std::uint8_t { none, node, ranks, service };
  // Says what a rank of a node becomes.
  struct Role {
    bool is_stager = false;
    std::int64_t stager = 0;  // place on the node of the stager to which the rank hands over
  };

  // Fails if the text has none of the forms above. The error does not repeat the text.
  static Result<StagerPlacement> parse(std::string_view text);
  // Returns the shortest text that parse() takes for this placement.
  [[nodiscard]] std::string text() const;

  [[nodiscard]] Where where() const { return where_; }
  [[nodiscard]] bool stages() const { return where_ != Where::none; }
  // Returns the path of the file or folder that names the stagers, for Where::service.
  [[nodiscard]] const std::string& rendezvous() const { return rendezvous_; }
  // The following functions are for Where::ranks.
  // Fails if a node with so many ranks would have no stager, or fewer other ranks than stagers.
  [[nodiscard]] Status check(std::int64_t ranks) const;
  // Returns the number of stagers on such a node.
  [[nodiscard]] std::int64_t stagers_of(std::int64_t ranks) const;
  // Returns what the rank at `place` becomes, on a node for which check() succeeds.
  [[nodiscard]] Role role(std::int64_t place, std::int64_t ranks) const;

 private:
  Where where_ = Where::none;
  std::int64_t count_ = 1;   // stagers of a node, if `one_in_` is 0
  std::int64_t one_in_ = 0;  // ranks with one stager among them
  std::string rendezvous_;
};

}  // namespace weir::topology
