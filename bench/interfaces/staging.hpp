// Where the stagers are to which a workload hands over what it writes, as its setting `staging`.
#pragma once

#include <string_view>
#include <vector>

#include "common/setting_fields.hpp"

namespace weir::bench {

// none: the ranks write themselves. node: a process of each node takes the bytes over. service:
// processes that are reached over TCP do.
enum class Staging { none, node, service };

[[nodiscard]] inline std::vector<Word<Staging>> staging_words() {
  return {{"none", Staging::none}, {"node", Staging::node}, {"service", Staging::service}};
}

}  // namespace weir::bench
