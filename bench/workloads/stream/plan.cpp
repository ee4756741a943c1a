#include "workloads/stream/plan.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "measurement/events.hpp"
#include "measurement/ring.hpp"

namespace weir::bench::stream {
namespace {

using nlohmann::ordered_json;

ordered_json phase_json(const char* direction, const Layout& layout) {
  ordered_json phase;
  phase["function"] = direction;
  phase["direction"] = direction;
  phase["operations_per_rank"] = layout.operations_per_rank();
  phase["bytes_per_operation"] = layout.transfer_bytes;
  phase["bytes_total"] = layout.total_bytes();
  phase["computations_per_operation"] = 0.0;
  phase["exposed_operations_per_rank"] = layout.operations_per_rank();
  return phase;
}

}  // namespace

std::vector<std::int64_t> ranks_of_target(std::size_t target, std::size_t targets,
                                          std::int64_t ranks) {
  std::vector<std::int64_t> mine;
  for (auto rank = static_cast<std::int64_t>(target); rank < ranks;
       rank += static_cast<std::int64_t>(targets)) {
    mine.push_back(rank);
  }
  return mine;
}

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
  const std::int64_t memory = memory_bytes_per_rank(variant, options, ranks);
  ordered_json plan;
  plan["ranks"] = ranks;
  plan["files"] = variant.file_per_rank ? ranks : 1;
  plan["memory_bytes_per_rank"] = memory;
  plan["memory_bytes_total"] = memory * ranks;
  plan["disk_bytes_total"] = options.write ? layout.total_bytes() : 0;
  plan["phases"] = ordered_json::array();
  if (options.write) plan["phases"].push_back(phase_json("write", layout));
  if (options.read) plan["phases"].push_back(phase_json("read", layout));
  plan["targets"] = ordered_json::array();
  if (targets.size() < 2) return plan;
  const int phases = (options.write ? 1 : 0) + (options.read ? 1 : 0);
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const auto mine = ranks_of_target(i, targets.size(), ranks);
    const auto files = static_cast<std::int64_t>(mine.size());
    plan["targets"].push_back({{"directory", targets[i].directory},
                               {"ranks", mine},
                               {"files", files},
                               {"bytes_total", files * layout.bytes_per_rank() * phases}});
  }
  return plan;
}

}  // namespace weir::bench::stream
