// What rank 0 tells the others of a file that it laid out or opened, or that gets a step more, so
// that it alone asks the file system.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "aggregation/collective_state.hpp"
#include "common/status.hpp"
#include "storage/formats/array_change.hpp"
#include "storage/formats/format.hpp"
#include "storage/known_file.hpp"
#include "topology/topology.hpp"

namespace weir::aggregation {

struct LayoutBroadcast {
  storage::FileMap map;
  std::string format = {};  // NOLINT(readability-redundant-member-init): may be left out
  std::string path = {};    // NOLINT(readability-redundant-member-init): the file's own
  topology::FileTargets targets = {};
  std::string sums = {};  // NOLINT(readability-redundant-member-init): of its checksums' file
  // The file or folder that data files belong to, by which ranks notice that it was replaced.
  std::optional<storage::KnownFile> known = std::nullopt;
};

// What happens to the places of a file's arrays when a step begins. Each case is said by name: an
// empty list is not a sign for any of the others.
struct FirstStepPlaces {};  // the first step failed and begins again: its places are still there
struct OneStepLonger {};    // no array is in chunks: those that grow get one step more
// One for each array, in the order in which they are open.
using ArrayChanges = std::vector<storage::ArrayChange>;
using StepPlaces = std::variant<FirstStepPlaces, OneStepLonger, ArrayChanges>;

// How the first array's files lie on their storage, as the file system tells; nothing where it
// tells nothing.
[[nodiscard]] topology::FileTargets targets_of(const storage::FileMap& map,
                                               const std::string& path);

// Collective: ask_rank_0() for a layout. Its error, which names the path unless it names another,
// is that of all ranks.
[[nodiscard]] Result<LayoutBroadcast> ask_for_layout(
    CollectiveState& state, const Asked* asked, const Status& possible,
    const CallFingerprint& fingerprint, const std::function<Result<LayoutBroadcast>()>& find,
    const std::string& path);

// Collective: ask_rank_0() for the places of a step that begins.
[[nodiscard]] Result<StepPlaces> ask_for_places(CollectiveState& state, const Asked* asked,
                                                const Status& possible,
                                                const CallFingerprint& fingerprint,
                                                const std::function<Result<StepPlaces>()>& find,
                                                const std::string& path);

}  // namespace weir::aggregation
