// How a calibration spends its seconds, and the figures that it makes. Pure.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

namespace weir::bench::calibrate {

inline constexpr int least_trials = 3;
inline constexpr int usual_trials = 5;
// Before the trials of a figure: the warm-up with its pilot, and one trial that does not count,
// because it is the first to touch as much memory as they do.
inline constexpr int rehearsals = 2;

// Shares of the whole time that each figure may take, its warm-up included. They add up to 1. The
// rates that decide most expectations have the most.
struct Shares {
  static constexpr double memory_copy_one_rank = 0.04;
  static constexpr double memory_copy = 0.04;
  static constexpr double write_cache = 0.08;
  static constexpr double write_storage = 0.20;
  static constexpr double write_synced_once = 0.14;
  static constexpr double read_cache = 0.08;
  static constexpr double read_storage = 0.18;
  static constexpr double fsync = 0.08;
  static constexpr double call = 0.03;
  static constexpr double barrier = 0.03;
  static constexpr double busy_work = 0.10;
};

// How often to do something that takes `seconds_once` in one trial, so that the rehearsals and the
// usual number of trials take `share_seconds` together: at least once, at most `most` times.
[[nodiscard]] std::int64_t repeats_per_trial(double share_seconds, double seconds_once,
                                             std::int64_t most);

// Whether to make another trial after `made` that took `spent_seconds` together with the
// rehearsals.
[[nodiscard]] bool another_trial(int made, double spent_seconds, double share_seconds);

// The size of the next, larger piece when one of `piece_bytes` took `seconds`: four times as large,
// at most `wanted_bytes`; the same when the larger one would take longer than `limit_seconds`.
[[nodiscard]] std::int64_t grown_piece(std::int64_t piece_bytes, std::int64_t wanted_bytes,
                                       double seconds, double limit_seconds);

// A `Trials` of calibration.json; needs at least one value.
[[nodiscard]] nlohmann::ordered_json trials_json(const std::vector<double>& values);

}  // namespace weir::bench::calibrate
