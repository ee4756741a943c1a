#include "workloads/open/results.hpp"

#include <array>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "common/clock.hpp"
#include "measurement/aggregate.hpp"
#include "measurement/result.hpp"

namespace weir::bench::opening {
namespace {

using nlohmann::ordered_json;

ordered_json calls_json(const CountedStep& counted) {
  ordered_json calls = ordered_json::object();
  for (std::size_t i = 0; i < calls::operations; ++i) {
    if (counted.by_call[i] > 0) calls[std::string(calls::operation_names[i])] = counted.by_call[i];
  }
  return calls;
}

}  // namespace

OpenRun::OpenRun(Variant variant, const Options& options, Executor& executor, CountedSteps counted,
                 ordered_json run)
    : SweptRun(variant.label, variant.slug, std::move(run)),
      variant_(std::move(variant)),
      options_(options),
      executor_(executor),
      counted_(std::move(counted)) {
  verifies_items_ = true;
}

Status OpenRun::repeat(std::int32_t /*repetition*/) {
  auto times = executor_.run(variant_);
  if (!times) return times.error();
  times_ = times.value();
  return {};
}

ordered_json OpenRun::figures(const JobFacts& facts, bool counted) {
  const Job& job = facts.job;
  job_nodes_ = job.nodes;
  items_verified_ += times_.files_verified;
  bytes_verified_ += times_.bytes_verified;
  // Times are on rank 0's clock.
  std::array<std::int64_t, step_count> starts{};
  std::array<std::int64_t, step_count> ends{};
  std::array<double, 2 * step_count> mine{};
  for (std::size_t i = 0; i < step_count; ++i) {
    const StepTimes& step = times_.steps[i];
    starts[i] = step.start_ns + facts.offset.offset_ns;
    ends[i] = step.end_ns + facts.offset.offset_ns;
    mine[2 * i] = seconds_of(step.end_ns - step.start_ns);
  }
  std::array<std::int64_t, step_count> first{};
  std::array<std::int64_t, step_count> last{};
  MPI_Reduce(starts.data(), first.data(), step_count, MPI_INT64_T, MPI_MIN, 0, job.world);
  MPI_Allreduce(ends.data(), last.data(), step_count, MPI_INT64_T, MPI_MAX, job.world);
  // The wait for the other ranks is computed from the clocks, whatever the rank does meanwhile.
  for (std::size_t i = 0; i < step_count; ++i) {
    mine[2 * i + 1] = seconds_of(last[i] - ends[i]);
  }
  const std::vector<Spread> spreads = spread_over_ranks(job, mine);
  if (job.rank != 0) return nullptr;
  ordered_json steps = ordered_json::array();
  for (std::size_t i = 0; i < step_count; ++i) {
    const double seconds = seconds_of(last[i] - first[i]);
    steps.push_back({{"step", step_names[i]},
                     {"seconds", seconds},
                     {"rank_seconds", spread_json(spreads[2 * i], facts.hosts)},
                     {"wait_seconds", spread_json(spreads[2 * i + 1], facts.hosts)}});
    if (!counted) continue;
    step_seconds_[i].add(seconds);
    compare_clocks_over(seconds);
  }
  return {{"opening", std::move(steps)}};
}

bool OpenRun::converged(const RepetitionPolicy& policy) const {
  return seconds_of_step(Step::create).converged(policy) &&
         seconds_of_step(Step::open).converged(policy);
}

ordered_json OpenRun::operations_json(Step step) const {
  const auto which = static_cast<std::size_t>(step);
  const std::vector<CountedStep>& points = counted_.by_ranks[which];
  if (points.empty()) return nullptr;
  const CountedStep& all = points.back();
  const Line line = fit_line(points);
  const NodeCounts* nodes = counted_.by_nodes.empty() ? nullptr : &counted_.by_nodes[which];
  ordered_json counts = ordered_json::array();
  for (const CountedStep& one : points) {
    counts.push_back({{"ranks", one.ranks}, {"operations", one.operations}});
  }
  // The library's requests depend on the nodes, so over ranks of several real nodes no line
  // describes them.
  const bool asks_by_node = variant_.api->can.plans && options_.ranks_per_node == 0;
  const bool expects = nodes != nullptr || (has_slope(points) && !(asks_by_node && job_nodes_ > 1));
  ordered_json expected = ordered_json::array();
  for (const std::int64_t ranks : expected_ranks) {
    if (!expects) break;
    const auto number = static_cast<double>(ranks);
    const double operations =
        nodes != nullptr ? operations_on(*nodes, number) : operations_on(line, number);
    ordered_json seconds = nullptr;
    if (options_.operations_per_second > 0) seconds = operations / options_.operations_per_second;
    expected.push_back({{"ranks", ranks}, {"operations", operations}, {"seconds", seconds}});
  }
  ordered_json by_nodes = nullptr;
  if (nodes != nullptr) {
    by_nodes = {{"ranks_per_node", nodes->one.ranks},
                {"first_node", nodes->one.operations},
                {"further_node", nodes->per_node()}};
  }
  return {{"total", all.operations},
          {"first_rank", all.first_rank},
          {"most", all.most},
          {"transfers", all.transfers},
          {"elsewhere", all.elsewhere},
          {"calls", calls_json(all)},
          {"counts", std::move(counts)},
          {"fixed", line.fixed},
          {"per_rank", line.per_rank},
          {"largest_deviation", line.largest_deviation},
          {"nodes", std::move(by_nodes)},
          {"expected", std::move(expected)}};
}

void OpenRun::put_series(const RepetitionPolicy& policy) {
  run()["opening"] = ordered_json::array();
  for (const Step step : all_steps) {
    run()["opening"].push_back({{"step", name_of(step)},
                                {"times", seconds_of_step(step).to_json(policy)},
                                {"operations", operations_json(step)}});
  }
}

std::string OpenRun::how_verified() const {
  return "after every step: each rank found its own piece of this repetition in the file that it "
         "had opened; every closed file exists, with at least the bytes of the pieces in it; every "
         "removed file is gone, and nothing else is left";
}

}  // namespace weir::bench::opening
