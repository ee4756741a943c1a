// The options of a session. Each is taken from the program, else from rank 0's environment, else it
// has its default.
//
// Rank 0's environment counts for all ranks, because launchers do not pass variables to all ranks
// alike. Rank 0 sends its values to the others, and every rank reads them by the same declarations.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "aggregation/collective.hpp"
#include "capi/outcome.hpp"
#include "capi/ranks.hpp"
#include "common/settings.hpp"
#include "topology/io_groups_choice.hpp"
#include "topology/network.hpp"
#include "topology/node_place.hpp"
#include "topology/topology.hpp"
#include "weir/weir.h"

namespace weir::capi {

struct SessionOptions {
  // Includes the deadline, but not the platform, its I/O groups and storage.
  aggregation::CollectiveSettings settings;
  // Properties of the session's storage; 0 if unspecified.
  std::int64_t alignment_bytes = 0;
  std::int64_t stripe_bytes = 0;
  std::int64_t lock_bytes = 0;
  std::int64_t targets = 0;
  topology::IoGroupsChoice io_groups;
  std::optional<topology::Network> network;

  // Replaces the values of the platform's description by the values that are specified here.
  void override(topology::FileTargets& described) const;
  // Returns everything that must be alike on all ranks, for the text of the call.
  [[nodiscard]] std::string text() const;
};

// Reads the options that the program passed; null: none.
[[nodiscard]] Outcome read_options(const weir_session_options* given, SessionOptions& options);

// Returns the deadline of the opening itself, before the ranks have exchanged anything: the
// program's, else the one in this rank's own environment, else the default.
[[nodiscard]] double opening_deadline(const weir_session_options* given,
                                      const EnvironmentLookup& environment);

// Reads from rank 0's environment the options that the program left open. Collective. Every rank
// gets the same values, or the same error, which names the variable.
[[nodiscard]] Outcome read_environment(Ranks& ranks, const weir_session_options* given,
                                       const EnvironmentLookup& environment,
                                       SessionOptions& options);

// The declarations of the settings, by which variables are read and from which the table of
// docs/library.md is made. The platform's setting is among them, although capi/platform_option.hpp
// reads it.
[[nodiscard]] std::span<const Setting> session_settings();
// Returns the table of docs/library.md, as Markdown.
[[nodiscard]] std::string session_settings_table();

}  // namespace weir::capi
