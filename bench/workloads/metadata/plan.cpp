#include "workloads/metadata/plan.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "measurement/histogram.hpp"
#include "measurement/workload_job.hpp"

namespace weir::bench::metadata {
namespace {

constexpr std::int64_t transfer_bytes = std::int64_t{1}
                                        << 20U;  // size of each of the two buffers of a rank
constexpr std::int64_t path_bytes = std::int64_t{16} << 10U;  // of the written paths

}  // namespace

std::int64_t operations_of(Action action, const TreeShape& shape, const TreeState& before) {
  const std::int64_t tree_directories = shape.trees() * shape.directories();
  if (facts_of(action).subject == Subject::tree) return tree_directories;
  if (facts_of(action).subject == Subject::listing) {
    const std::int64_t items = shape.sharing == Sharing::one_file ? 1 : shape.all_items();
    return (before.directories ? 2 : 1) * items + tree_directories - shape.trees();
  }
  if (shape.sharing == Sharing::one_file && action == Action::unlink) return 1;
  return shape.all_items();
}

std::int64_t operations_of(const Measured& measured, const Options& options,
                           const TreeShape& shape) {
  const std::int64_t all =
      options.mix_operations > 0 ? options.mix_operations * shape.ranks : shape.all_items();
  if (!measured.of_mix) return all;
  double total = 0;
  double own = 0;
  for (const MixPart& part : options.mix) {
    total += static_cast<double>(part.weight);
    if (part.action == measured.action) own = static_cast<double>(part.weight);
  }
  return std::llround(static_cast<double>(all) * own / total);
}

std::int64_t memory_bytes_per_rank(const Variant& variant, const Options& options) {
  const auto histogram = static_cast<std::int64_t>(sizeof(LatencyHistogram));
  const auto actions = static_cast<std::int64_t>(measured_on(options, variant).size());
  // The histograms count twice: for the records of a repetition and for those of all repetitions.
  return 2 * std::min(options.largest_size(), transfer_bytes) + path_bytes +
         2 * histogram * actions;
}

std::int64_t disk_bytes(const Variant& variant, const Options& options) {
  if (!options.kinds.files) return 0;
  const std::int64_t files =
      variant.shape.sharing == Sharing::one_file ? 1 : variant.shape.all_items();
  return files * options.bytes;
}

nlohmann::ordered_json plan_json(const Variant& variant, const Options& options) {
  const TreeShape& shape = variant.shape;
  const auto measured = measured_on(options, variant);
  const bool any_files = std::any_of(measured.begin(), measured.end(), [](const Measured& one) {
    const Subject subject = facts_of(one.action).subject;
    return subject == Subject::file || subject == Subject::listing;
  });
  const std::int64_t files = shape.sharing == Sharing::one_file ? 1 : shape.all_items();
  nlohmann::ordered_json plan =
      planned(shape.ranks, any_files ? files : 0, memory_bytes_per_rank(variant, options),
              disk_bytes(variant, options));
  plan["metadata"] = nlohmann::ordered_json::array();
  TreeState state{.tree = options.existing,
                  .directories = options.existing && options.kinds.directories,
                  .files = options.existing && options.kinds.files};
  for (const Measured& one : measured) {
    const Action action = one.action;
    if (!options.mix.empty()) {
      plan["metadata"].push_back(
          {{"action", one.name()}, {"operations", operations_of(one, options, shape)}});
      continue;
    }
    for (const Action first : preparation_for(action, state)) state = after(first, state);
    plan["metadata"].push_back(
        {{"action", facts_of(action).name}, {"operations", operations_of(action, shape, state)}});
    state = after(action, state);
  }
  return plan;
}

}  // namespace weir::bench::metadata
