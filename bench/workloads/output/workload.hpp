// A workload that writes files in turn with computing, from its command line to its results.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/settings.hpp"
#include "common/status.hpp"
#include "measurement/core_settings.hpp"
#include "workloads/output/content.hpp"
#include "workloads/output/parameters.hpp"

namespace weir::bench::output {

// Says what distinguishes such a workload from others.
struct Program {
  const char* name = "";  // on the command line and in results
  const char* description = "";
  std::vector<Setting> settings = {};  // its own
  // The arguments by which it writes one file of few bytes (SweptWorkload::few_bytes()).
  std::vector<std::string> few_bytes = {};
  // Returns the content that the settings ask for, or the first rule that they break.
  using MakeContent = std::function<Result<std::unique_ptr<Content>>(
      const Settings& settings, std::int64_t ranks, const std::vector<Variant>& variants)>;
  MakeContent content = {};
};

// Does what the command line requests. Returns the exit status.
int run(const Program& program, const std::vector<std::string>& arguments);

}  // namespace weir::bench::output
