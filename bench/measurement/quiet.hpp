// Judges whether the system was otherwise quiet while the run was made. (Uselton, section 4: "Is
// the system otherwise quiescent?")
//
// Load averages lag by a minute and count this run's own ranks, so they are recorded but do not
// decide. Two shares of each node's processor time over the run decide: the share used by neither
// the job's ranks nor the kernel's threads (which write this run's data back), and the share that a
// hypervisor gave to other machines.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
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
  std::int64_t stolen = 0;  // taken by the hypervisor
};

// Parses the text of /proc/stat. Returns nothing if it has no line "cpu".
[[nodiscard]] std::optional<ProcessorTicks> parse_processor_ticks(std::string_view stat);
// Returns the ticks that the process of one /proc/PID/stat used if it is a kernel thread, otherwise
// 0.
[[nodiscard]] std::int64_t kernel_thread_ticks(std::string_view process_stat);

// Says what one node observed over the run. Ticks are differences between the run's end and its
// start.
struct NodeActivity {
  std::string host;
  std::optional<ProcessorTicks> ticks;
  std::int64_t kernel_thread_ticks = 0;
  double own_seconds = 0;  // processor time of the job's ranks on this node
};

// Returns a `Quiet` of run.json. It names the node where other processes used the most. Pure.
[[nodiscard]] nlohmann::json judge_quiet(std::span<const NodeActivity> nodes, double load_before,
                                         double load_after, std::int64_t ticks_per_second);

// Watches every rank's node from construction to finish().
class QuietWatch {
 public:
  explicit QuietWatch(const Job& job);  // local
  // Collective over the job. Returns the `Quiet` of run.json on rank 0, and null on other ranks.
  [[nodiscard]] Result<nlohmann::json> finish(const Job& job) const;

 private:
  std::optional<ProcessorTicks> ticks_;  // on the first rank of each node
  std::int64_t kernel_thread_ticks_ = 0;
  double own_seconds_ = 0;
  double load_ = 0;
};

}  // namespace weir::bench
