// Translates mdtest's command line to the settings of this workload. Pure.
//
// With --mdtest-compat among the arguments, every option with one dash is mdtest's; an option with
// two dashes is Weir's and overrides it. The error for an unsupported option names the option and
// an alternative.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "common/status.hpp"

namespace weir::bench::metadata {

// Translates mdtest's arguments to long options; they are unchanged without --mdtest-compat.
[[nodiscard]] Result<std::vector<std::string>> translate_mdtest(
    std::span<const std::string> arguments);

// Fails for options of one letter, because Weir itself has none here. For the arguments of
// translations such as the above.
[[nodiscard]] Status refuse_letters(std::span<const std::string> arguments);

}  // namespace weir::bench::metadata
