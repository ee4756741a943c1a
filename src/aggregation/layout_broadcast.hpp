// The data that rank 0 sends to the other ranks about a file that it laid out or opened, or that
// gets another step, so that only rank 0 queries the file system.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "aggregation/array_changes.hpp"
#include "aggregation/collective_state.hpp"
#include "common/status.hpp"
#include "formats/format.hpp"
#include "system/known_file.hpp"
#include "topology/topology.hpp"

namespace weir::aggregation {

struct LayoutBroadcast {
  storage::FileMap map;
  std::string format = {};  // NOLINT(readability-redundant-member-init): may be left out
  std::string path = {};    // NOLINT(readability-redundant-member-init): the file's own
  topology::FileTargets targets = {};
  std::string sums = {};  // NOLINT(readability-redundant-member-init): of its checksums' file
  // The message has no tables of places of chunks, which are sent to one rank of each node.
  bool has_tables_apart = false;
  // The file or folder that contains the data files; it lets ranks notice that it was replaced.
  std::optional<storage::KnownFile> known = std::nullopt;
};

// The change of the places of a file's arrays when a step begins. Each case has a type of its
// own; an empty list does not stand for any of the others.
struct FirstStepPlaces {};  // the first step failed and begins again: its places still exist
struct OneStepLonger {};    // no array is in chunks: those that grow get one more step
using StepPlaces = std::variant<FirstStepPlaces, OneStepLonger, ArrayChanges>;

// Sets how the first array's files are laid out on their storage, and which file or folder contains
// the data files, as far as the file system reports it. `map` is that of the file at `path`.
void look_up_storage(LayoutBroadcast& layout, const storage::FileMap& map, const std::string& path);

// Collective: ask_rank_0() for a layout. All ranks get the same error, which names `path` unless it
// already names a file.
[[nodiscard]] Result<LayoutBroadcast> ask_for_layout(
    CollectiveState& state, const Status& possible,
    const std::function<Result<LayoutBroadcast>()>& find, const std::string& path);

// Collective: ask_rank_0() for the places of a step that begins.
[[nodiscard]] Result<StepPlaces> ask_for_places(CollectiveState& state, const Status& possible,
                                                const std::function<Result<StepPlaces>()>& find,
                                                const std::string& path);

}  // namespace weir::aggregation
