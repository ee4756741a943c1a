// Translates metarates' command line to the settings of this workload. Pure.
//
// With --metarates-compat among the arguments, every option with one dash is metarates'; an option
// with two dashes is Weir's and overrides it.
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
