#include "workloads/madbench/schedule.hpp"

namespace weir::bench::madbench {
namespace {

std::vector<Step> schedule_s(std::int64_t matrices) {
  std::vector<Step> steps;
  for (std::int64_t i = 0; i < matrices; ++i) {
    steps.push_back({Action::compute, i});
    if (i > 0) steps.push_back({Action::wait_write, i - 1});
    steps.push_back({Action::begin_write, i});
  }
  steps.push_back({Action::wait_write, matrices - 1});
  return steps;
}

// Reads and remaps the level-1 matrices of one unit. If `begun`, the read of the first has begun
// before.
void finish_unit(std::vector<Step>& steps, std::int64_t unit, std::int64_t gangs, bool begun) {
  for (std::int64_t part = 0; part < gangs; ++part) {
    const std::int64_t matrix = unit * gangs + part;
    if (part == 0 && !begun) steps.push_back({Action::begin_read, matrix});
    steps.push_back({Action::wait_read, matrix});
    if (part + 1 < gangs) steps.push_back({Action::begin_read, matrix + 1});
    if (gangs > 1) steps.push_back({Action::remap, matrix});
  }
}

std::vector<Step> schedule_w(std::int64_t units, std::int64_t gangs) {
  std::vector<Step> steps;
  finish_unit(steps, 0, gangs, false);
  for (std::int64_t i = 0; i < units; ++i) {
    if (i > 0) steps.push_back({Action::begin_write, i - 1});
    if (i + 1 < units) steps.push_back({Action::begin_read, (i + 1) * gangs});
    steps.push_back({Action::compute, i});
    if (i > 0) steps.push_back({Action::wait_write, i - 1});
    if (i + 1 < units) finish_unit(steps, i + 1, gangs, true);
  }
  steps.push_back({Action::begin_write, units - 1});
  steps.push_back({Action::wait_write, units - 1});
  return steps;
}

std::vector<Step> schedule_c(std::int64_t matrices) {
  std::vector<Step> steps;
  steps.push_back({Action::begin_read, 0});
  steps.push_back({Action::wait_read, 0});
  for (std::int64_t i = 0; i < matrices; ++i) {
    if (i + 1 < matrices) steps.push_back({Action::begin_read, i + 1});
    steps.push_back({Action::compute, i});
    if (i + 1 < matrices) steps.push_back({Action::wait_read, i + 1});
  }
  return steps;
}

}  // namespace

const char* name_of(Function function) {
  switch (function) {
    case Function::S:
      return "S";
    case Function::D:
      return "D";
    case Function::W:
      return "W";
    case Function::C:
      break;
  }
  return "C";
}

std::vector<Step> schedule_of(Function function, std::int64_t no_bin, std::int64_t no_gang) {
  switch (function) {
    case Function::S:
      return schedule_s(no_bin);
    case Function::D:
      return {};  // no transfers, and no busy work in I/O mode
    case Function::W:
      return schedule_w(no_bin / no_gang, no_gang);
    case Function::C:
      break;
  }
  return schedule_c(no_bin / no_gang);
}

std::vector<Pair> pairs_of(std::int64_t units) {
  std::vector<Pair> pairs;
  for (std::int64_t column = 0; column < units; ++column) {
    for (std::int64_t row = column; row < units; ++row) pairs.push_back({column, row});
  }
  return pairs;
}

std::vector<Step> full_schedule_of(Function function, std::int64_t no_bin, std::int64_t no_gang) {
  if (function == Function::D) return {{Action::compute, 0}};
  if (function != Function::C) return schedule_of(function, no_bin, no_gang);
  const std::vector<Pair> pairs = pairs_of(no_bin / no_gang);
  // The order is that of I/O mode with one turn per pair.
  std::vector<Step> steps = schedule_c(static_cast<std::int64_t>(pairs.size()));
  for (Step& step : steps) {
    step.turn = step.matrix;
    step.matrix = pairs[static_cast<std::size_t>(step.turn)].row;
  }
  return steps;
}

int compute_exponent(Function function) { return function == Function::W ? 3 : 2; }

GangLevel compute_level(Function function) {
  return function == Function::S || function == Function::D ? GangLevel::all_ranks
                                                            : GangLevel::gang;
}

GangLevel read_level(Function function) {
  return function == Function::W ? GangLevel::all_ranks : GangLevel::gang;
}

GangLevel write_level(Function function) {
  return function == Function::S ? GangLevel::all_ranks : GangLevel::gang;
}

}  // namespace weir::bench::madbench
