// Divides a calibration's time among its figures, and summarizes the trials. Pure.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <vector>

namespace weir::bench::probe {

inline constexpr int least_trials = 3;
inline constexpr int usual_trials = 5;
// The measurements before the trials of a figure: the warm-up with its pilot, and one trial that
// does not count, because it is the first to touch as much memory as the trials do.
inline constexpr int rehearsals = 2;

// The share of the whole time that each figure may take, including its warm-up. The shares add up
// to 1, but for that of a way to stagers, of which a job may have several. The rates that decide
// most expectations have the largest shares.
struct Shares {
  static constexpr double memory_copy_one_rank = 0.04;
  static constexpr double memory_copy = 0.04;
  static constexpr double write_cache = 0.10;
  static constexpr double write_storage = 0.19;
  static constexpr double write_synced_once = 0.14;
  static constexpr double read_cache = 0.12;
  static constexpr double read_storage = 0.17;
  static constexpr double first_read = 0.03;
  static constexpr double fsync = 0.07;
  static constexpr double call = 0.03;
  static constexpr double barrier = 0.03;
  static constexpr double busy_work = 0.04;
  static constexpr double link = 0.05;
};

// Returns how often one trial repeats something that takes `seconds_once`, so that the rehearsals
// and the usual number of trials together take `share_seconds`: at least once, at most `most`
// times.
[[nodiscard]] std::int64_t repeats_per_trial(double share_seconds, double seconds_once,
                                             std::int64_t most);

// Returns whether to make another trial after `made` trials, which together with the rehearsals
// took `spent_seconds`.
[[nodiscard]] bool another_trial(int made, double spent_seconds, double share_seconds);

// Returns the size of the next, larger piece after one of `piece_bytes` took `seconds`: four times
// as large, but at most `wanted_bytes`. Returns `piece_bytes` if the larger piece would take longer
// than `limit_seconds`.
[[nodiscard]] std::int64_t grown_piece(std::int64_t piece_bytes, std::int64_t wanted_bytes,
                                       double seconds, double limit_seconds);

// Returns a `Trials` of calibration.json. Needs at least one value.
[[nodiscard]] nlohmann::ordered_json trials_json(const std::vector<double>& values);

}  // namespace weir::bench::probe
