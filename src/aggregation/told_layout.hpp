// What rank 0 tells the others of a file that it laid out or opened, so that it alone asks the file
// system.
#pragma once

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

// Collective. `found` and `path` matter on rank 0; its error, which names the path unless it names
// another, is that of all ranks.
[[nodiscard]] Result<ToldLayout> told_by_rank_0(CollectiveState& state,
                                                const Result<ToldLayout>& found,
                                                const std::string& path);

}  // namespace weir::aggregation
