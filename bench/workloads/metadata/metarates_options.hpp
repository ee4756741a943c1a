// metarates' command line, translated to the settings of this workload. Pure.
//
// With --metarates-compat among the arguments, all that begins with one dash is metarates'; what
// begins with two is Weir's, and overrides it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "common/status.hpp"

namespace weir::bench::metadata {

// Translates metarates' arguments to long options; they are unchanged without --metarates-compat.
[[nodiscard]] Result<std::vector<std::string>> translate_metarates(
    std::span<const std::string> arguments);

}  // namespace weir::bench::metadata
