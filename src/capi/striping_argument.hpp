// Reads the striping of new files.
#pragma once

#include "capi/outcome.hpp"
#include "system/striping.hpp"

namespace weir::capi {

// Reads the striping from options of an array or a file, which have the same fields for it.
template <typename Options>
[[nodiscard]] Outcome read_striping(const Options& options, storage::Striping& striping) {
  striping = {.count = options.stripe_count,
              .stripe_bytes = options.stripe_bytes,
              .first_target = options.first_target,
              .pool = options.pool == nullptr ? "" : options.pool};
  const Status possible = striping.check();
  return possible.ok() ? Outcome{} : outcome_of(possible.error(), "options");
}

}  // namespace weir::capi
