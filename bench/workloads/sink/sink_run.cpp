#include "workloads/sink/sink_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "common/clock.hpp"
#include "measurement/aggregate.hpp"
#include "measurement/cache_verdict.hpp"
#include "measurement/repetition.hpp"

namespace weir::bench::sink {
namespace {

using nlohmann::ordered_json;

constexpr double mebibyte = 1048576;
constexpr double microseconds = 1e6;

constexpr const char* how_checked =
    "in each repetition one more message of each rank goes the same way into a file, from which "
    "it is read back and compared, every byte, outside the timed part; where the route counts the "
    "bytes that it dropped, they equal those that were sent";
constexpr const char* how_checked_in_file =
    "in each repetition the file that was overwritten is read back and compared, every byte, "
    "outside the timed part; where the route counts the bytes that it stored, they equal those "
    "that were sent";

}  // namespace

SinkRun::SinkRun(Configuration configuration, const Options& options, Executor& executor,
                 std::string directory, ordered_json run)
    : PhasedRun(configuration.variant.label(), configuration.variant.slug(),
                {.write = true,
                 .read = false,
                 .directories = {std::move(directory)},
                 .how_verified = options.into_file ? how_checked_in_file : how_checked},
                std::move(run)),
      configuration_(std::move(configuration)),
      options_(options),
      executor_(executor) {}

Status SinkRun::repeat(std::int32_t repetition) {
  auto record = executor_.run(configuration_, repetition);
  if (!record) return record.error();
  latest_ = std::move(record).value();
  record_ = latest_.repetition;
  return {};
}

Series SinkRun::measured() const {
  return Series(Unit::bytes_per_second, span_rates(Direction::write));
}

double SinkRun::efficiency() const {
  return efficiencies_.empty() ? 0 : median_interval(efficiencies_).median;
}

ordered_json SinkRun::figures(const JobFacts& facts, bool counted) {
  ordered_json own = PhasedRun::figures(facts, counted);
  const std::array<double, 3> mine{latest_.source_seconds, latest_.receiving_seconds,
                                   seconds_of(latest_.stager_wait_ns)};
  const std::vector<Spread> slowest = spread_over_ranks(facts.job, mine);
  if (facts.job.rank != 0) return own;
  // What is dropped comes to neither storage nor memory.
  if (!options_.into_file) own["phases"][0]["cache"] = to_json(CacheState{});
  if (!counted) return own;
  const auto bytes = static_cast<double>(configuration_.variant.message_bytes);
  const double source = bytes * facts.job.size / slowest[0].max;
  source_.add(source);
  if (configuration_.variant.is_staged()) stager_wait_.add(slowest[2].max);
  receivers_ = latest_.receivers;
  accounted_ = latest_.accounted;
  double least = source;
  if (receivers_ > 0) {
    const double receiving = bytes * static_cast<double>(receivers_) / slowest[1].max;
    receiving_.add(receiving);
    least = std::min(least, receiving);
  }
  const double rate = measured().values().back();
  efficiencies_.push_back(rate / least);
  message_seconds_.add(rate > 0 ? bytes * facts.job.size / rate : 0);
  return own;
}

void SinkRun::put_series(const RepetitionPolicy& policy) {
  PhasedRun::put_series(policy);
  const MedianInterval efficiency = median_interval(efficiencies_);
  run()["sink"] = {
      {"route", configuration_.variant.route()},
      {"into", options_.into_file ? "file" : "null"},
      {"message_bytes", configuration_.variant.message_bytes},
      {"messages", options_.messages(configuration_.variant)},
      {"accounted", accounted_},
      {"receivers", receivers_ > 0 ? ordered_json(receivers_) : ordered_json()},
      {"message", message_seconds_.to_json(policy)},
      {"source_capacity", source_.to_json(policy)},
      {"receiving_capacity", receiving_.empty() ? ordered_json() : receiving_.to_json(policy)},
      {"stager_wait", stager_wait_.empty() ? ordered_json() : stager_wait_.to_json(policy)},
      {"efficiency", efficiency.median}};
}

std::string table(const std::vector<const SinkRun*>& runs) {
  std::size_t width = 20;
  for (const SinkRun* run : runs) width = std::max(width, run->label().size());
  std::string text =
      fmt::format("{:<{}} {:>12} {:>9} {:>20} {:>10} {:>10} {:>10}\n", "MiB/s", width, "us/message",
                  "measured", "least to most", "source", "receiving", "efficiency");
  for (const SinkRun* run : runs) {
    const Series measured = run->measured();
    const std::string spread =
        fmt::format("{:.1f} to {:.1f}", measured.least() / mebibyte, measured.most() / mebibyte);
    text += fmt::format("{:<{}} {:>12.2f} {:>9.1f} {:>20} {:>10.1f} {:>10} {:>10.2f}\n",
                        run->label(), width, run->message_seconds().median() * microseconds,
                        measured.median() / mebibyte, spread, run->source().median() / mebibyte,
                        run->receiving().empty()
                            ? std::string("-")
                            : fmt::format("{:.1f}", run->receiving().median() / mebibyte),
                        run->efficiency());
  }
  return text;
}

}  // namespace weir::bench::sink
