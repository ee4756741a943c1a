// Was the system otherwise quiet while the run was made? (Uselton, section 4: "Is the system
// otherwise quiescent?")
//
// Load averages lag by a minute and count this run's own ranks, so they are recorded but do not
// decide. What decides is the share of each node's processor time, over the run, that went to
// neither the job's ranks nor the kernel's threads (which write this run's data back), and the
// share that a hypervisor gave to other machines.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "common/status.hpp"
#include "measurement/job.hpp"

namespace weir::bench {

// Processor time since boot, summed over the processors, in clock ticks.
struct ProcessorTicks {
  std::int64_t busy = 0;    // user, nice, system, interrupts
  std::int64_t idle = 0;    // idle and waiting for I/O
  std::int64_t stolen = 0;  // by the hypervisor
};

// From the text of /proc/stat; nothing when it has no line "cpu".
[[nodiscard]] std::optional<ProcessorTicks> parse_processor_ticks(std::string_view stat);
// Ticks that the process of one /proc/PID/stat used, when it is a kernel thread, otherwise 0.
[[nodiscard]] std::int64_t kernel_thread_ticks(std::string_view process_stat);

// What one node saw over the run. Ticks are differences between its end and its start.
struct NodeActivity {
  std::string host;
  std::optional<ProcessorTicks> ticks;
  std::int64_t kernel_thread_ticks = 0;
  double own_seconds = 0;  // processor time of the job's ranks on this node
};

// A `Quiet` of run.json; names the node where other processes did most. Pure.
[[nodiscard]] nlohmann::json judge_quiet(std::span<const NodeActivity> nodes, double load_before,
                                         double load_after, std::int64_t ticks_per_second);

// Watches from its construction, on every rank, to finish().
class QuietWatch {
 public:
  explicit QuietWatch(const Job& job);  // local
  // Collective over the job. The `Quiet` of run.json on rank 0, null elsewhere.
  [[nodiscard]] Result<nlohmann::json> finish(const Job& job) const;

 private:
  std::optional<ProcessorTicks> ticks_;  // on the first rank of each node
  std::int64_t kernel_thread_ticks_ = 0;
  double own_seconds_ = 0;
  double load_ = 0;
};

}  // namespace weir::bench
