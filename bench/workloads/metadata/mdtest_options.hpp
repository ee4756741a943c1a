// mdtest's command line, translated to the settings of this workload. Pure.
//
// With --mdtest-compat among the arguments, all that begins with one dash is mdtest's; what begins
// with two is Weir's, and overrides it. What is not done here is refused by name, with what to use
// instead.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "common/status.hpp"

namespace weir::bench::metadata {

// Translates mdtest's arguments to long options; they are unchanged without --mdtest-compat.
[[nodiscard]] Result<std::vector<std::string>> translate_mdtest(
    std::span<const std::string> arguments);

// Refuses options of one letter, which Weir itself has none of here; for the arguments of
// translations such as the above.
[[nodiscard]] Status refuse_letters(std::span<const std::string> arguments);

}  // namespace weir::bench::metadata
