// Translates IOR's command line to the settings of this workload. Pure.
//
// The declarations (declarations.cpp) give the letter and the directive of each setting. This file
// handles the grammar: bundled letters (-wrF), values attached or separate (-b4m, -b=4m, -b 4m),
// directives (-O name=value,name=value), and long names in any case (--blockSize=4m). It also
// handles the options that correspond to no single setting. The error for an unsupported option
// names the option and an alternative.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "common/settings.hpp"
#include "common/status.hpp"

namespace weir::bench::stream {

// Translates IOR's arguments to long options of `declarations`.
[[nodiscard]] Result<std::vector<std::string>> translate_ior(
    std::span<const Setting> declarations, std::span<const std::string> arguments);

// Returns whether the arguments, which translate_ior() accepts, are a command line of IOR without a
// number of repetitions, which IOR runs once: only letters, directives and IOR's long names. Weir's
// own names make it Weir's command line, except the names that say where files and results go, and
// the seed.
[[nodiscard]] bool runs_once_in_ior(std::span<const Setting> declarations,
                                    std::span<const std::string> arguments);

}  // namespace weir::bench::stream
