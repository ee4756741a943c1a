// A configuration of stream in the sweep over all configurations, and the summary that is printed
// at the end.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/status.hpp"
#include "measurement/job.hpp"
#include "measurement/phased_run.hpp"
#include "measurement/run_folder.hpp"
#include "workloads/stream/execute.hpp"

namespace weir::bench::stream {

class StreamRun final : public PhasedRun {
 public:
  // The executor and the options must outlive the run. `run` is the run.json so far, on rank 0.
  StreamRun(Configuration configuration, const Options& options, Executor& executor,
            nlohmann::ordered_json run);

  Status repeat(std::int32_t repetition) override;
  [[nodiscard]] int failed_rank() const override { return executor_.failed_rank(); }
  [[nodiscard]] const Configuration& configuration() const { return configuration_; }

 private:
  Configuration configuration_;
  Executor& executor_;
};

// Prints the table of all runs as --summary-format and --summary-file request. On rank 0.
[[nodiscard]] Status print_summary(const Job& job, const JobFolders& folders,
                                   const Options& options, const CoreSettings& core,
                                   const std::vector<std::string>& command,
                                   const std::vector<const StreamRun*>& runs);

}  // namespace weir::bench::stream
