// The options of a session: what the program passes, else rank 0's environment, else the default.
//
// Rank 0's environment counts for all ranks, as launchers do not pass variables on alike: its
// values are told to the others, and every rank reads them by the same declarations.
#pragma once

#include <span>
#include <string>

#include "aggregation/collective.hpp"
#include "capi/outcome.hpp"
#include "capi/ranks.hpp"
#include "common/settings.hpp"
#include "topology/topology.hpp"
#include "weir/weir.h"

namespace weir::capi {

struct SessionOptions {
  aggregation::CollectiveSettings settings;  // with the deadline; but for platform and storage
  // Properties of the session's storage; 0 where they are left open.
  std::int64_t alignment_bytes = 0;
  std::int64_t stripe_bytes = 0;
  std::int64_t lock_bytes = 0;
  std::int64_t targets = 0;

  // Puts what is not left open over what the platform's description says.
  void override(topology::FileTargets& described) const;
  // Everything that must be alike on all ranks, for the text of the call.
  [[nodiscard]] std::string text() const;
};

// What the program passed (null: nothing).
[[nodiscard]] Outcome read_options(const weir_session_options* given, SessionOptions& options);

// The deadline of the opening itself, before the ranks have told each other anything: the
// program's, else the one in this rank's own environment, else the default.
[[nodiscard]] double opening_deadline(const weir_session_options* given,
                                      const EnvironmentLookup& environment);

// Collective: what rank 0's environment says of options that the program left open. Every rank gets
// the same, or the same error, which names the variable.
[[nodiscard]] Outcome read_environment(Ranks& ranks, const weir_session_options* given,
                                       const EnvironmentLookup& environment,
                                       SessionOptions& options);

// The declarations, from which variables are read and the table of docs/library.md is made. The
// platform's is among them, though capi/platform_option.hpp reads it.
[[nodiscard]] std::span<const Setting> session_settings();
// The table of docs/library.md, as Markdown.
[[nodiscard]] std::string session_settings_table();

}  // namespace weir::capi
