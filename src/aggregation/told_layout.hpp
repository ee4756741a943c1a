// What rank 0 tells the others of a file that it laid out or opened, so that it alone asks the file
// system.
#pragma once

#include <functional>
#include <string>

#include "aggregation/collective_state.hpp"
#include "common/status.hpp"
#include "storage/formats/format.hpp"
#include "topology/topology.hpp"

namespace weir::aggregation {

struct ToldLayout {
  storage::FileMap map;
  std::string format = {};  // NOLINT(readability-redundant-member-init): may be left out
  std::string path = {};    // NOLINT(readability-redundant-member-init): the file's own
  topology::FileTargets targets = {};
  std::string sums = {};  // NOLINT(readability-redundant-member-init): of its checksums' file
};

// How the first array's files lie on their storage, as the file system tells; nothing where it
// tells nothing.
[[nodiscard]] topology::FileTargets targets_of(const storage::FileMap& map,
                                               const std::string& path);

// Collective: ask_rank_0() for a layout. Its error, which names the path unless it names another,
// is that of all ranks.
[[nodiscard]] Result<ToldLayout> ask_for_layout(CollectiveState& state, const Asked* asked,
                                                const Status& possible,
                                                const CallFingerprint& fingerprint,
                                                const std::function<Result<ToldLayout>()>& find,
                                                const std::string& path);

}  // namespace weir::aggregation
