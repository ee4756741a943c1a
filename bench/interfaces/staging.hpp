// The setting `staging` of a workload says where the stagers are to which it hands over what it
// writes.
#pragma once

#include <string_view>
#include <vector>

#include "common/setting_fields.hpp"

namespace weir::bench {

// none: the ranks write themselves. node: a process of each node takes the bytes over. ranks: one
// in the place of the node's last rank does (stager_ranks.hpp). service: processes that are reached
// over TCP do.
enum class Staging { none, node, ranks, service };

// Returns the placements of stagers that store what they get.
[[nodiscard]] inline std::vector<Word<Staging>> staging_words() {
  return {{"none", Staging::none},
          {"node", Staging::node},
          {"ranks", Staging::ranks},
          {"service", Staging::service}};
}
// Returns those of stagers that a workload can start itself, to drop what they get.
[[nodiscard]] inline std::vector<Word<Staging>> own_staging_words() {
  return {{"none", Staging::none}, {"node", Staging::node}, {"service", Staging::service}};
}

}  // namespace weir::bench
