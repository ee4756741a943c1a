#include "workloads/array/array_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "common/clock.hpp"
#include "measurement/repetition.hpp"

namespace weir::bench::array_io {
namespace {

using nlohmann::ordered_json;

constexpr double mebibyte = 1048576;
// A rank that moved less than this share of the busiest rank's bytes moved headers, not the array.
constexpr double least_share_of_a_mover = 0.01;

constexpr const char* how_checked =
    "every byte that the timed phase read is checked outside the timed part; where a section was "
    "written or nothing was read, the whole array is read back and checked. Elements are a "
    "function of seed, generation and global index";

double median(const std::vector<double>& values) {
  return values.empty() ? 0 : median_interval(values).median;
}

// Returns the directories to which the bytes of each rank can be counted. The chunks of a rank may
// lie in files of all directories, and other ranks may move them.
std::vector<std::string> directories_of_ranks(const Variant& variant,
                                              const std::vector<std::string>& directories) {
  return variant.contiguous ? directories : std::vector<std::string>{directories.front()};
}

}  // namespace

ArrayRun::ArrayRun(Configuration configuration, const Options& options, Executor& executor,
                   const std::vector<std::string>& directories, ordered_json run)
    : PhasedRun(configuration.variant.label, configuration.variant.slug,
                {.write = options.write,
                 .read = options.read,
                 .directories = directories_of_ranks(configuration.variant, directories),
                 .how_verified = how_checked},
                std::move(run)),
      configuration_(std::move(configuration)),
      executor_(executor) {}

Status ArrayRun::repeat(std::int32_t repetition) {
  auto record = executor_.run(configuration_, repetition);
  if (!record) return record.error();
  record_ = std::move(record.value().repetition);
  phases_ = std::move(record.value().phases);
  return {};
}

ordered_json ArrayRun::figures(const JobFacts& facts, bool counted) {
  ordered_json own = PhasedRun::figures(facts, counted);
  for (std::size_t i = 0; i < phases_.size(); ++i) {
    own["phases"][i]["array"] = costs_json(facts, phases_[i], record_.phases[i].bytes, counted);
  }
  return own;
}

ordered_json ArrayRun::costs_json(const JobFacts& facts, const ArrayPhaseRecord& costs,
                                  std::int64_t bytes, bool counted) {
  const Job& job = facts.job;
  const bool writing = costs.direction == Direction::write;
  const auto moved = static_cast<double>(writing ? costs.bytes_written : costs.bytes_read);
  double busiest = 0;
  MPI_Allreduce(&moved, &busiest, 1, MPI_DOUBLE, MPI_MAX, job.world);
  const bool mover = moved > 0 && moved >= least_share_of_a_mover * busiest;
  const std::array<double, 7> mine{static_cast<double>(costs.bytes_written),
                                   static_cast<double>(costs.bytes_read),
                                   static_cast<double>(bytes),
                                   mover ? 1.0 : 0.0,
                                   mover ? moved : 0.0,
                                   costs.io_known ? 1.0 : 0.0,
                                   costs.stages ? 1.0 : 0.0};
  const std::vector<double> sums = sum_over_ranks(job, mine);
  const StageTimes stages = costs.stages.value_or(StageTimes{});
  const std::array<double, 4> times{seconds_of(stages.planning_ns), seconds_of(stages.gathering_ns),
                                    seconds_of(stages.storage_ns), seconds_of(stages.waiting_ns)};
  const std::vector<Spread> spreads = spread_over_ranks(job, times);
  if (job.rank != 0) return nullptr;
  ordered_json json = {{"bytes_written", nullptr},    {"bytes_read", nullptr},
                       {"moved_per_byte", nullptr},   {"movers", nullptr},
                       {"aggregators", nullptr},      {"balance", nullptr},
                       {"planning_seconds", nullptr}, {"gathering_seconds", nullptr},
                       {"storage_seconds", nullptr},  {"waiting_seconds", nullptr}};
  if (sums[5] == job.size) {
    const double per_byte = sums[2] > 0 ? (sums[0] + sums[1]) / sums[2] : 0;
    // An aggregator that had nothing to do counts as a sharer; a rank that was no aggregator does
    // not.
    const double sharers = std::max(sums[3], static_cast<double>(stages.aggregators));
    const double balance = sums[4] > 0 ? busiest * sharers / sums[4] : 0;
    json["bytes_written"] = static_cast<std::int64_t>(sums[0]);
    json["bytes_read"] = static_cast<std::int64_t>(sums[1]);
    json["moved_per_byte"] = per_byte;
    json["movers"] = static_cast<std::int64_t>(sums[3]);
    if (balance > 0) json["balance"] = balance;
    History& history = writing ? writing_ : reading_;
    if (counted) {
      history.moved_per_byte.push_back(per_byte);
      if (balance > 0) history.balance.push_back(balance);
      history.movers = static_cast<std::int64_t>(sums[3]);
    }
  }
  if (sums[6] == job.size) {
    json["aggregators"] = stages.aggregators;
    for (std::size_t i = 0; counted && i < spreads.size(); ++i) {
      (writing ? writing_ : reading_).stage_seconds.at(i).push_back(spreads[i].mean);
    }
    json["planning_seconds"] = spread_json(spreads[0], facts.hosts);
    json["gathering_seconds"] = spread_json(spreads[1], facts.hosts);
    json["storage_seconds"] = spread_json(spreads[2], facts.hosts);
    json["waiting_seconds"] = spread_json(spreads[3], facts.hosts);
  }
  return json;
}

// Repetitions of one round are adjacent in time, so their ratios are compared and not their means.
double ArrayRun::share_of_peak(Direction direction) const {
  if (peak_ == nullptr) return 0;
  const std::vector<double> mine = span_rates(direction);
  const std::vector<double> peak = peak_->span_rates(direction);
  std::vector<double> ratios;
  for (std::size_t i = 0; i < std::min(mine.size(), peak.size()); ++i) {
    if (peak[i] > 0) ratios.push_back(mine[i] / peak[i]);
  }
  return median(ratios);
}

ordered_json ArrayRun::peaks_json() const {
  ordered_json peaks = ordered_json::array();
  if (peak_ == nullptr) return peaks;
  for (const Direction direction : {Direction::write, Direction::read}) {
    const std::vector<double> rates = peak_->span_rates(direction);
    if (rates.empty()) continue;
    peaks.push_back({{"direction", bench::name_of(direction)},
                     {"peak_bytes_per_second", median(rates)},
                     {"fraction", share_of_peak(direction)}});
  }
  return peaks;
}

void ArrayRun::put_last(const JobFacts& facts) {
  PhasedRun::put_last(facts);
  if (facts.job.rank == 0) run()["peaks"] = peaks_json();
}

ArrayRun::Line ArrayRun::line(Direction direction) const {
  const History& seen = history(direction);
  Line line{.rate = median(span_rates(direction)),
            .share_of_peak = share_of_peak(direction),
            .moved_per_byte = median(seen.moved_per_byte),
            .balance = median(seen.balance),
            .movers = seen.movers,
            .stage_seconds = {}};
  for (const std::vector<double>& seconds : seen.stage_seconds) {
    if (!seconds.empty()) line.stage_seconds.push_back(median(seconds));
  }
  return line;
}

namespace {

// Returns a table of the stage times of a rank, for interfaces that report them.
std::string stage_table(const std::vector<const ArrayRun*>& runs) {
  std::string text;
  for (const ArrayRun* run : runs) {
    for (const Direction direction : {Direction::write, Direction::read}) {
      const std::vector<double> seconds = run->line(direction).stage_seconds;
      if (seconds.size() < 4) continue;
      if (text.empty()) {
        text = fmt::format("{:<18} {:<6} {:>10} {:>10} {:>10} {:>10}\n", "ms, mean of ranks", "",
                           "planning", "gathering", "storage", "waiting");
      }
      text += fmt::format("{:<18} {:<6} {:>10.2f} {:>10.2f} {:>10.2f} {:>10.2f}\n", run->label(),
                          bench::name_of(direction), seconds[0] * 1e3, seconds[1] * 1e3,
                          seconds[2] * 1e3, seconds[3] * 1e3);
    }
  }
  return text;
}

}  // namespace

std::string table(const Geometry& geometry, const std::vector<const ArrayRun*>& runs) {
  std::string text =
      fmt::format("array {} of {}, {:.4g} MiB; {}\n", geometry.shape.text(), geometry.type.name(),
                  static_cast<double>(geometry.array_bytes()) / mebibyte, geometry.writing.text());
  if (geometry.is_section()) {
    const std::string strides = geometry.part(geometry.writing, 0).is_strided()
                                    ? " by " + array::extents_text(geometry.asked.stride)
                                    : "";
    text += fmt::format("section of {} from {}{}, {:.4g} MiB\n",
                        array::extents_text(geometry.asked.count),
                        array::extents_text(geometry.asked.start), strides,
                        static_cast<double>(geometry.asked_bytes()) / mebibyte);
  }
  text += fmt::format("{:<18} {:<6} {:>10} {:>8} {:>14} {:>7} {:>8}\n", "api", "", "MiB/s",
                      "of peak", "moved per byte", "movers", "balance");
  const auto figure = [](double value, const char* form) {
    return value > 0 ? fmt::format(fmt::runtime(form), value) : std::string("-");
  };
  for (const ArrayRun* run : runs) {
    for (const Direction direction : {Direction::write, Direction::read}) {
      const ArrayRun::Line line = run->line(direction);
      if (line.rate <= 0) continue;
      text += fmt::format(
          "{:<18} {:<6} {:>10.1f} {:>8} {:>14} {:>7} {:>8}\n", run->label(),
          bench::name_of(direction), line.rate / mebibyte, figure(line.share_of_peak, "{:.3f}"),
          figure(line.moved_per_byte, "{:.3f}"), line.movers, figure(line.balance, "{:.2f}"));
    }
  }
  return text + stage_table(runs);
}

}  // namespace weir::bench::array_io
