#include "measurement/swept_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "common/clock.hpp"

namespace weir::bench {

using nlohmann::ordered_json;

CacheState judge_cache(const JobFacts& facts, const PhaseFigures& figures,
                       const CacheEvidence& mine) {
  const bool reading = figures.key.direction == Direction::read;
  // Sums over the ranks: device bytes, leaders, leaders that know them, resident shares, and their
  // number.
  const std::array<double, 5> counts{
      static_cast<double>(mine.device_bytes), facts.job.node_rank == 0 ? 1.0 : 0.0,
      mine.device_known ? 1.0 : 0.0, mine.resident_sum, static_cast<double>(mine.resident_count)};
  const std::vector<double> sums = sum_over_ranks(facts.job, counts);
  CacheObservations seen;
  seen.direction = figures.key.direction;
  seen.bytes = figures.bytes;
  seen.file_system = facts.file_system;
  seen.direct_io = facts.core.direct;
  seen.durable_sync = !reading && mine.durable;
  if (reading && sums[4] > 0) seen.resident_fraction_before = sums[3] / sums[4];
  if (sums[1] > 0 && sums[1] == sums[2]) {
    seen.device_bytes = static_cast<std::int64_t>(sums[0]);
  }
  if (figures.rate_slowest_rank > 0) seen.rate_bytes_per_second = figures.rate_slowest_rank;
  if (facts.memory_rate > 0) seen.memory_rate_bytes_per_second = facts.memory_rate;
  return judge_cache(seen);
}

SweptRun::SweptRun(std::string label, std::string slug, ordered_json run)
    : label_(std::move(label)),
      slug_(std::move(slug)),
      run_(std::make_unique<ordered_json>(std::move(run))) {}

SweptRun::~SweptRun() = default;

void SweptRun::compare_clocks_over(double seconds) {
  if (seconds > 0) shortest_seconds_ = std::min(shortest_seconds_, seconds);
}

void SweptRun::add(const JobFacts& facts, const RepetitionPlace& place) {
  ++repetitions_;
  const ordered_json own = figures(facts, place.counted);
  if (facts.job.rank != 0) return;
  const double seconds = seconds_of(place.ended_ns - place.started_ns);
  if (place.counted) seconds_.push_back(seconds);
  ordered_json record = {
      {"index", place.index},
      {"warmup", !place.counted},
      {"outlier", false},  // put_rates() marks the outliers
      {"started_seconds", seconds_of(place.started_ns + facts.offset.offset_ns - facts.epoch_ns)},
      {"seconds", seconds},
      {"order", place.order},
      {"phases", ordered_json::array()},
      {"functions", ordered_json::array()}};
  record.update(own);
  run()["repetitions"].push_back(std::move(record));
}

void SweptRun::put_rates(const RepetitionPolicy& policy) {
  if (seconds_.empty()) return;
  const std::vector<bool> outlying = outliers(seconds_);
  std::size_t number = 0;
  for (ordered_json& repetition : run()["repetitions"]) {
    if (!repetition["warmup"].get<bool>()) repetition["outlier"] = bool{outlying[number++]};
  }
  run()["histograms"] = ordered_json::array();
  for (const Activity& activity : activities_) {
    if (activity.moves_bytes()) run()["histograms"].push_back(activity.phase_histogram_json());
  }
  if (const std::string how = how_verified();
      !how.empty() && run()["verification"]["performed"].get<bool>()) {
    run()["verification"]["how"] = how;
  }
  put_series(policy);
}

bool SweptRun::settled(const RepetitionPolicy& policy) const {
  if (counted() >= policy.maximum) return true;
  return counted() >= policy.minimum && converged(policy);
}

void SweptRun::put_nodes() {
  for (const NodeReport& node : nodes_) {
    ordered_json phases = ordered_json::array();
    for (std::size_t i = 0; i < activities_.size(); ++i) {
      if (!activities_[i].moves_bytes()) continue;
      phases.push_back(activities_[i].phase_of_node_json(node, i));
    }
    run()["nodes"].push_back(
        {{"host", node.host}, {"ranks", node.ranks}, {"phases", std::move(phases)}});
  }
}

void SweptRun::finish(const JobFacts& facts, const ordered_json& environment,
                      const ordered_json& clocks) {
  nodes_ = gather_shares(facts.job, activities_);
  const std::array<double, 2> mine{static_cast<double>(bytes_verified_),
                                   static_cast<double>(items_verified_)};
  const std::vector<double> verified = sum_over_ranks(facts.job, mine);
  if (facts.job.rank == 0) put_rates(facts.core.repetitions);
  put_last(facts);
  if (facts.job.rank != 0) return;
  put_nodes();
  ordered_json& verification = run()["verification"];
  verification["bytes_verified"] = static_cast<std::int64_t>(verified[0]);
  if (verifies_items_ && facts.core.verify) {
    verification["items_verified"] = static_cast<std::int64_t>(verified[1]);
  }
  run()["clocks"] = clocks;
  run()["environment"] = environment;
  if (const std::string part = shortest_part(); !part.empty() && clocks["flagged"].get<bool>()) {
    run()["warnings"].push_back(
        fmt::format("the clocks of different ranks agree only to {:.3g} ms, which is {:.1f} % of "
                    "the shortest {}: rates by span have this uncertainty",
                    clocks["error_bound_ns"].get<double>() * 1e-6,
                    clocks["error_fraction_of_span"].get<double>() * 100, part));
  }
  run()["status"] = "complete";
  run()["finished_utc"] = utc_now();
}

}  // namespace weir::bench
