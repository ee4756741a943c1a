#include "measurement/target_directories.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <system_error>
#include <utility>

#include "measurement/result.hpp"

namespace weir::bench {

using nlohmann::ordered_json;

Result<std::vector<std::string>> directories_of(const Settings& settings,
                                                std::string_view workload) {
  std::vector<std::string> directories;
  if (!settings.has("directory")) return directories;
  const std::string& text = settings.text("directory");
  std::istringstream names(text);
  for (std::string one; std::getline(names, one, ',');) {
    if (one.empty()) {
      return invalid_argument(fmt::format(
          "{}: --directory {}: one of the names is empty: leave it out", workload, text));
    }
    std::error_code error;
    std::string whole =
        std::filesystem::weakly_canonical(std::filesystem::absolute(one), error).string();
    if (error || whole.empty()) whole = one;
    if (std::find(directories.begin(), directories.end(), whole) != directories.end()) {
      return invalid_argument(
          fmt::format("{}: --directory {}: {} is given twice", workload, text, one));
    }
    directories.push_back(std::move(whole));
  }
  if (directories.size() < 2) directories.clear();
  return directories;
}

std::vector<std::int64_t> ranks_of_directory(std::size_t directory, std::size_t directories,
                                             std::int64_t ranks) {
  std::vector<std::int64_t> mine;
  for (auto rank = static_cast<std::int64_t>(directory); rank < ranks;
       rank += static_cast<std::int64_t>(directories)) {
    mine.push_back(rank);
  }
  return mine;
}

void TargetSeries::add_phase(std::string_view function, Direction direction) {
  phases_.push_back({std::string(function), direction});
  phases_.back().targets.resize(directories_.size());
}

void TargetSeries::add(std::size_t phase, const std::vector<TargetFigures>& figures) {
  for (std::size_t i = 0; i < figures.size(); ++i) {
    Target& target = phases_[phase].targets[i];
    const auto& [bytes, seconds] = figures[i];
    target.bytes = bytes;
    target.io_seconds_max = std::max(target.io_seconds_max, seconds);
    target.rates.add(seconds > 0 ? static_cast<double>(bytes) / seconds : 0);
  }
}

ordered_json TargetSeries::to_json(std::int64_t ranks) const {
  ordered_json all = ordered_json::array();
  if (directories_.size() < 2) return all;
  for (std::size_t i = 0; i < directories_.size(); ++i) {
    ordered_json phases = ordered_json::array();
    for (const Phase& phase : phases_) {
      const Target& target = phase.targets[i];
      phases.push_back({{"function", phase.function},
                        {"direction", name_of(phase.direction)},
                        {"bytes", target.bytes},
                        {"io_seconds_max", target.io_seconds_max},
                        {"rate_bytes_per_second", rate_or_null(target.rates.median())}});
    }
    all.push_back({{"directory", directories_[i]},
                   {"ranks", ranks_of_directory(i, directories_.size(), ranks)},
                   {"phases", std::move(phases)}});
  }
  return all;
}

}  // namespace weir::bench
