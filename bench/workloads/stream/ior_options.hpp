// IOR's command line, translated to the settings of this workload. Pure.
//
// The setting that a letter or a directive means stands with the setting (declarations.cpp). Here
// is the grammar: bundled letters (-wrF), values attached or apart (-b4m, -b=4m, -b 4m), directives
// (-O name=value,name=value), long names in any case (--blockSize=4m). And what has no one setting,
// or is not done here: each is refused by name, with what to use instead.
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

// Whether the arguments, which translate_ior() takes, are a line of IOR's that says nothing of
// repetitions, and so runs once: letters, directives and IOR's long names alone. Names of Weir's
// own make it Weir's line, but for those that say where files and results go, and the seed.
[[nodiscard]] bool runs_once_in_ior(std::span<const Setting> declarations,
                                    std::span<const std::string> arguments);

}  // namespace weir::bench::stream
