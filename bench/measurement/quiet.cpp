#include "measurement/quiet.hpp"

#include <fmt/format.h>
#include <mpi.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <vector>

#include "measurement/processor_ticks.hpp"

namespace weir::bench {
namespace {

// If other processes or the hypervisor used more than these shares of a node's time, it was not
// quiet.
constexpr double tolerated_others = 0.10;
constexpr double tolerated_stolen = 0.10;
// With fewer ticks than this, over all processors, a share has no meaning.
constexpr std::int64_t least_ticks = 50;
constexpr std::int64_t kernel_thread_parent = 2;  // kthreadd

double own_processor_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double load_of_last_minute() {
  double load = 0;
  return getloadavg(&load, 1) == 1 ? load : 0;
}

// Returns the integers of a text separated by blanks, up to the first field that is not an integer.
std::vector<std::int64_t> integers(std::string_view text) {
  std::vector<std::int64_t> values;
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  while (true) {
    while (at != end && *at == ' ') ++at;
    std::int64_t value = 0;
    const auto [next, error] = std::from_chars(at, end, value);
    if (error != std::errc{}) return values;
    values.push_back(value);
    at = next;
  }
}

struct Shares {
  double others = 0;
  double stolen = 0;
};

std::optional<Shares> shares_of(const NodeActivity& node, std::int64_t ticks_per_second) {
  if (!node.ticks) return std::nullopt;
  const std::int64_t all = node.ticks->busy + node.ticks->idle + node.ticks->stolen;
  if (all < least_ticks) return std::nullopt;
  const double own = node.own_seconds * static_cast<double>(ticks_per_second);
  const double others =
      static_cast<double>(node.ticks->busy - std::max<std::int64_t>(0, node.kernel_thread_ticks)) -
      own;
  const double total = static_cast<double>(all);
  return Shares{std::clamp(others / total, 0.0, 1.0),
                std::clamp(static_cast<double>(node.ticks->stolen) / total, 0.0, 1.0)};
}

// The message from a node's first rank to rank 0. It is sent as bytes, because all ranks run the
// same program.
struct ActivityMessage {
  std::array<char, 256> host;
  std::int64_t busy;
  std::int64_t idle;
  std::int64_t stolen;
  std::int64_t kernel_threads;
  double own_seconds;
  std::int32_t known;
};

NodeActivity activity_of(const ActivityMessage& report) {
  NodeActivity node{.host = report.host.data(),
                    .ticks = std::nullopt,
                    .kernel_thread_ticks = report.kernel_threads,
                    .own_seconds = report.own_seconds};
  if (report.known != 0) node.ticks = ProcessorTicks{report.busy, report.idle, report.stolen};
  return node;
}

}  // namespace

std::optional<ProcessorTicks> parse_processor_ticks(std::string_view stat) {
  if (!stat.starts_with("cpu ")) return std::nullopt;
  // The fields are user nice system idle iowait irq softirq steal. Guest times are part of user and
  // nice.
  std::vector<std::int64_t> values = integers(stat.substr(4));
  if (values.size() < 4) return std::nullopt;
  values.resize(std::max<std::size_t>(values.size(), 8), 0);
  return ProcessorTicks{.busy = values[0] + values[1] + values[2] + values[5] + values[6],
                        .idle = values[3] + values[4],
                        .stolen = values[7]};
}

std::int64_t kernel_thread_ticks(std::string_view process_stat) {
  // An example is "17 (kworker/0:1 (x)) I 2 0 …". The name may contain anything; the last
  // parenthesis ends it.
  const std::size_t name_end = process_stat.rfind(')');
  if (name_end == std::string_view::npos || name_end + 4 > process_stat.size()) return 0;
  const std::vector<std::int64_t> fields = integers(process_stat.substr(name_end + 4));
  // These fields follow the state. In proc(5), the parent is field 4, utime 14 and stime 15.
  if (fields.size() < 12 || fields[0] != kernel_thread_parent) return 0;
  return fields[10] + fields[11];
}

nlohmann::json judge_quiet(std::span<const NodeActivity> nodes, double load_before,
                           double load_after, std::int64_t ticks_per_second) {
  nlohmann::json verdict = {{"load_before", load_before},
                            {"load_after", load_after},
                            {"other_processes_busy_fraction", nullptr},
                            {"quiet", false},
                            {"text", ""}};
  const NodeActivity* busiest = nullptr;
  const NodeActivity* most_stolen = nullptr;
  Shares worst;
  for (const NodeActivity& node : nodes) {
    const std::optional<Shares> shares = shares_of(node, ticks_per_second);
    if (!shares) continue;
    if (busiest == nullptr || shares->others > worst.others) {
      busiest = &node;
      worst.others = shares->others;
    }
    if (most_stolen == nullptr || shares->stolen > worst.stolen) {
      most_stolen = &node;
      worst.stolen = shares->stolen;
    }
  }
  if (busiest == nullptr) {
    verdict["text"] = fmt::format(
        "unknown whether the machine was quiet: the run was too short, or /proc/stat cannot be "
        "read; load {:.2f} before, {:.2f} after",
        load_before, load_after);
    return verdict;
  }
  const bool quiet = worst.others <= tolerated_others && worst.stolen <= tolerated_stolen;
  verdict["other_processes_busy_fraction"] = worst.others;
  verdict["quiet"] = quiet;
  verdict["text"] = fmt::format(
      "{}: other processes used {:.1f} % of the processor time{}{}", quiet ? "quiet" : "not quiet",
      100 * worst.others, nodes.size() > 1 ? fmt::format(" of {}", busiest->host) : "",
      worst.stolen > 0.005
          ? fmt::format(", the hypervisor took {:.1f} %{}", 100 * worst.stolen,
                        nodes.size() > 1 ? fmt::format(" on {}", most_stolen->host) : "")
          : "");
  return verdict;
}

QuietWatch::QuietWatch(const Job& job) : own_seconds_(own_processor_seconds()) {
  if (job.node_rank != 0) return;
  ticks_ = processor_ticks_now();
  kernel_thread_ticks_ = kernel_thread_ticks_now();
  load_ = load_of_last_minute();
}

Result<nlohmann::json> QuietWatch::finish(const Job& job) const {
  ActivityMessage report{};
  const double own_seconds = own_processor_seconds() - own_seconds_;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ireduce(&own_seconds, &report.own_seconds, 1, MPI_DOUBLE, MPI_SUM, 0, job.node, &request);
  if (Status status = wait_for(request, job.deadline_ns(), "gathering processor times"); !status)
    return status.error();
  if (job.node_rank != 0) return nlohmann::json(nullptr);

  if (const auto now = processor_ticks_now(); now && ticks_) {
    report.busy = now->busy - ticks_->busy;
    report.idle = now->idle - ticks_->idle;
    report.stolen = now->stolen - ticks_->stolen;
    report.known = 1;
  }
  report.kernel_threads = kernel_thread_ticks_now() - kernel_thread_ticks_;
  std::strncpy(report.host.data(), job.host.c_str(), report.host.size() - 1);
  std::vector<ActivityMessage> reports(job.rank == 0 ? static_cast<std::size_t>(job.nodes) : 0);
  constexpr int report_bytes = sizeof(ActivityMessage);
  MPI_Igather(&report, report_bytes, MPI_BYTE, reports.data(), report_bytes, MPI_BYTE, 0,
              job.leaders, &request);
  if (Status status = wait_for(request, job.deadline_ns(), "gathering processor times"); !status)
    return status.error();
  if (job.rank != 0) return nlohmann::json(nullptr);
  std::vector<NodeActivity> nodes;
  nodes.reserve(reports.size());
  for (const ActivityMessage& one : reports) nodes.push_back(activity_of(one));
  return judge_quiet(nodes, load_, load_of_last_minute(), sysconf(_SC_CLK_TCK));
}

}  // namespace weir::bench
