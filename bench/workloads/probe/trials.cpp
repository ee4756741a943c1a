#include "workloads/probe/trials.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "measurement/repetition.hpp"

namespace weir::bench::probe {

std::int64_t repeats_per_trial(double share_seconds, double seconds_once, std::int64_t most) {
  const double trial_seconds = share_seconds / (usual_trials + rehearsals);
  if (seconds_once <= 0 || trial_seconds / seconds_once >= static_cast<double>(most)) return most;
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(trial_seconds / seconds_once));
}

bool another_trial(int made, double spent_seconds, double share_seconds) {
  if (made < least_trials) return true;
  // The next trial is assumed to take as long as the mean of those before it.
  return made < usual_trials &&
         spent_seconds + spent_seconds / (made + rehearsals) <= share_seconds;
}

std::int64_t grown_piece(std::int64_t piece_bytes, std::int64_t wanted_bytes, double seconds,
                         double limit_seconds) {
  constexpr std::int64_t growth = 4;
  if (piece_bytes >= wanted_bytes) return wanted_bytes;
  const std::int64_t next =
      piece_bytes > wanted_bytes / growth ? wanted_bytes : piece_bytes * growth;
  const double ratio = static_cast<double>(next) / static_cast<double>(piece_bytes);
  return seconds * ratio <= limit_seconds ? next : piece_bytes;
}

nlohmann::ordered_json trials_json(const std::vector<double>& values) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return {{"median", median_interval(values).median},
          {"low", *low},
          {"high", *high},
          {"values", values}};
}

}  // namespace weir::bench::probe
