#include "workloads/stream/plan.hpp"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "measurement/events.hpp"
#include "measurement/result.hpp"
#include "measurement/ring.hpp"
#include "measurement/target_directories.hpp"
#include "measurement/workload_job.hpp"

namespace weir::bench::stream {
namespace {

using nlohmann::ordered_json;

PlannedPhase phase_of(Direction direction, const Layout& layout) {
  return {.function = bench::name_of(direction),
          .direction = direction,
          .operations_per_rank = layout.operations_per_rank(),
          .bytes_per_operation = layout.transfer_bytes,
          .bytes_total = layout.total_bytes()};
}

}  // namespace

std::int64_t memory_bytes_per_rank(const Variant& variant, const Options& options,
                                   std::int64_t ranks) {
  const Layout layout = layout_of(variant, options, ranks);
  const std::int64_t operations = layout.operations_per_rank();
  const std::int64_t buffers =
      variant.api->can.queue
          ? variant.queue_depth
          : Ring::buffers_for(layout.transfer_bytes, operations, variant.queue_depth);
  const auto event = static_cast<std::int64_t>(sizeof(Event));
  // The memory holds the trace of two phases, and the body of the payload in addition to the
  // buffers.
  return Ring::memory_bytes(buffers + 1, layout.transfer_bytes) + VisitOrder::memory_bytes(layout) +
         2 * event * std::min(operations, options.trace_events + 2);
}

ordered_json plan_json(const Variant& variant, const Options& options,
                       const std::vector<Target>& targets, std::int64_t ranks) {
  const Layout layout = layout_of(variant, options, ranks);
  std::vector<PlannedPhase> phases;
  if (options.write) phases.push_back(phase_of(Direction::write, layout));
  if (options.read) phases.push_back(phase_of(Direction::read, layout));
  ordered_json plan = planned(ranks, variant.file_per_rank ? ranks : 1,
                              memory_bytes_per_rank(variant, options, ranks),
                              options.write ? layout.total_bytes() : 0, phases);
  plan["targets"] = ordered_json::array();
  if (targets.size() < 2) return plan;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const auto mine = ranks_of_directory(i, targets.size(), ranks);
    const auto files = static_cast<std::int64_t>(mine.size());
    plan["targets"].push_back(
        {{"directory", targets[i].directory},
         {"ranks", mine},
         {"files", files},
         {"bytes_total", files * layout.bytes_per_rank() * std::ssize(phases)}});
  }
  return plan;
}

}  // namespace weir::bench::stream
