#include "workloads/probe/survey.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "workloads/probe/room.hpp"
#include "workloads/probe/trials.hpp"

namespace weir::bench::probe {
namespace {

constexpr std::int64_t largest_buffer = 64 * MiB;
// Messages in flight need this much.
constexpr std::int64_t smallest_buffer = 4 * MiB;
constexpr std::int64_t copy_bytes = 32 * MiB;

// Shares of the whole time.
constexpr double files_share = 0.02;
constexpr double pilot_share = 0.0004;
constexpr double longest_operation_share = 0.04;
constexpr double longest_overrun = 1.1;

constexpr int rounds_wanted = 5;
constexpr int rounds_wanted_of_many = 3;
// Slow devices and links take about a tenth of a second before their limit shows.
constexpr double lead_in_seconds = 0.12;
constexpr double lead_in_seconds_of_many = 0.05;
// Between lead-in and timed part a limited link is idle for a moment, and then lets some bytes pass
// at once. They made the rate of a single MiB at 1 Gbit/s an eighth too high; of a longer timed
// part they are a small share.
constexpr double least_link_seconds = 0.06;
// Below this rate a pilot would reveal less of a device than the writing of its files did.
constexpr double slow_bytes_per_second = 500e6;
constexpr double usual_call_seconds = 50e-6;

std::int64_t whole_mib(std::int64_t bytes) { return bytes / MiB * MiB; }

// Returns how many of the directories, including this one, lie on the same file system.
std::int64_t targets_sharing(const std::vector<std::string>& directories,
                             const std::string& directory) {
  struct stat own {};
  if (::stat(directory.c_str(), &own) != 0) return static_cast<std::int64_t>(directories.size());
  return std::count_if(directories.begin(), directories.end(), [&own](const std::string& one) {
    struct stat other {};
    return ::stat(one.c_str(), &other) != 0 || other.st_dev == own.st_dev;
  });
}

}  // namespace

Result<Spare> find_spare(const Job& job, const Request& request) {
  Spare spare;
  const auto targets = static_cast<std::int64_t>(request.directories.size());
  // The files' pages need memory besides the buffers. find_room() returns half of the free memory.
  constexpr std::int64_t buffers = 2;
  std::int64_t least = largest_buffer;
  for (const std::string& directory : request.directories) {
    const Room room = find_room(job, directory, largest_buffer, largest_buffer);
    spare.memory_available = room.memory_available;
    least = std::min(least, whole_mib(room.memory_per_rank / (buffers + targets)));
    // With fewer ranks the files are larger: up to three times the bytes of all files are needed.
    constexpr std::int64_t sets = 3;
    const std::int64_t sharing = targets_sharing(request.directories, directory);
    spare.largest_file_bytes.push_back(whole_mib(room.disk_per_rank / sets / sharing));
  }
  Error error;
  error.code = ErrorCode::insufficient;
  if (least < smallest_buffer) {
    error.message = fmt::format(
        "too little memory is free for {} ranks on this host: start fewer ranks", job.node_size);
    return error;
  }
  spare.buffer_bytes = least;
  for (std::size_t target = 0; target < spare.largest_file_bytes.size(); ++target) {
    std::int64_t& bytes = spare.largest_file_bytes[target];
    bytes = std::min(bytes, least);
    if (bytes >= MiB) continue;
    error.message = fmt::format(
        "too little disk is free in {}: the test files need {} MiB; free some disk, or give "
        "another directory",
        request.directories[target], 6 * job.size);
    return error;
  }
  return spare;
}

Result<TargetShape> Survey::grow_files(int target) {
  const auto place = static_cast<std::size_t>(target);
  const std::int64_t wanted = spare_.largest_file_bytes[place];
  const double limit_seconds = files_seconds();
  std::int64_t bytes = MiB;
  double seconds = 0;
  while (true) {
    // The better of two attempts counts: the first touches new memory and disk space.
    for (int attempt = 0; attempt < 2; ++attempt) {
      const auto took = instrument_.write_files(target, bytes);
      if (!took) return took.error();
      seconds = attempt == 0 ? took.value() : std::min(seconds, took.value());
    }
    const std::int64_t next = grown_piece(bytes, wanted, seconds, limit_seconds);
    if (next == bytes) break;
    bytes = next;
  }
  TargetShape found;
  found.bytes_per_second = static_cast<double>(bytes) * job_.size / seconds;
  const double more = static_cast<double>(bytes) * limit_seconds / seconds;
  found.file_bytes = std::clamp(
      whole_mib(more < static_cast<double>(wanted) ? static_cast<std::int64_t>(more) : wanted),
      bytes, wanted);
  return found;
}

Status Survey::fill_files(int target) {
  TargetShape& shape = shape_.targets[static_cast<std::size_t>(target)];
  const std::int64_t wanted = spare_.largest_file_bytes[static_cast<std::size_t>(target)];
  // A stall can mislead growing by short steps; the writing of the full files is longer.
  while (true) {
    const auto seconds =
        instrument_.write_files(target, file_bytes_at(shape_, target, placement_.position));
    if (!seconds) return seconds.error();
    std::int64_t bytes = 0;
    for (int position = 0; position < job_.size; ++position) {
      bytes += file_bytes_at(shape_, target, position);
    }
    shape.bytes_per_second = static_cast<double>(bytes) / seconds.value();
    const double limit = shape.bytes_per_second * files_seconds() / job_.size;
    // The size grows by at least half, so that this ends soon.
    constexpr double growth = 1.5;
    if (limit < growth * static_cast<double>(shape.file_bytes) || shape.file_bytes >= wanted) {
      return {};
    }
    shape.file_bytes =
        limit < static_cast<double>(wanted) ? whole_mib(static_cast<std::int64_t>(limit)) : wanted;
  }
}

double Survey::files_seconds() const {
  constexpr double usual_targets = 4;
  return files_share * request_.seconds *
         std::min(1.0, usual_targets / static_cast<double>(request_.directories.size()));
}

Status Survey::prepare(const std::vector<std::string>& folders) {
  if (Status status = instrument_.provide_buffers(spare_.buffer_bytes); !status) return status;
  shape_.host_ranks = placement_.host_ranks;
  shape_.largest_file_bytes = spare_.buffer_bytes;
  shape_.copy_bytes = std::min(copy_bytes, spare_.buffer_bytes);
  if (shape_.copy_bytes < copy_bytes) {
    warnings_.push_back(fmt::format("little memory is free: copies of {} MiB may stay in caches",
                                    shape_.copy_bytes / MiB));
  }
  for (const std::string& folder : folders) {
    if (Status status = instrument_.add_target(folder); !status) return status;
  }
  if (Status status = instrument_.renew_payload(); !status) return status;
  for (std::size_t place = 0; place < folders.size(); ++place) {
    const auto target = static_cast<int>(place);
    auto found = grow_files(target);
    if (!found) return found.error();
    shape_.targets.push_back(std::move(found).value());
    if (Status status = fill_files(target); !status) return status;
    const auto direct = instrument_.open_direct(target);
    if (!direct) return direct.error();
    shape_.targets[place].direct = direct.value();
    const auto resident =
        instrument_.resident_after_drop(target, file_bytes_at(shape_, target, placement_.position));
    if (!resident) return resident.error();
    constexpr double tolerated = 0.1;
    if (resident.value() > tolerated) {
      warnings_.push_back(fmt::format(
          "{}: {:.0f} % of the pages stay in memory when dropped: storage_read reads memory there",
          request_.directories[place], 100 * resident.value()));
    }
  }
  Cells made = make_cells(shape_, request_.directories);
  cells_ = std::move(made.cells);
  warnings_.insert(warnings_.end(), made.warnings.begin(), made.warnings.end());
  return look_at_clock();
}

Status Survey::look_at_clock() {
  const auto elapsed =
      instrument_.meeting().from_first_rank(seconds_of(monotonic_ns() - began_ns_));
  if (!elapsed) return elapsed.error();
  elapsed_ = elapsed.value();
  return {};
}

bool Survey::over_time() const { return elapsed_ > longest_overrun * request_.seconds; }

Status Survey::make_trial(std::size_t index, Kind kind) {
  const Cell& cell = cells_[index];
  Course& course = courses_[index];
  report_progress(cell, kind);
  const double before = elapsed_;
  const auto seconds = instrument_.trial(cell, course.plan);
  if (!seconds) return seconds.error();
  if (Status status = look_at_clock(); !status) return status;
  double timed = 0;
  for (std::size_t i = 0; i < seconds.value().size(); ++i) {
    timed += seconds.value()[i];
    if (kind != Kind::counted) continue;
    course.seconds.resize(seconds.value().size());
    course.seconds[i].push_back(seconds.value()[i]);
  }
  course.cost.seconds_per_operation = timed / static_cast<double>(course.plan.operations);
  course.cost.overhead_seconds = std::max(0.0, elapsed_ - before - timed);
  return {};
}

Status Survey::make_pilot(std::size_t index) {
  const Cell& cell = cells_[index];
  Course& course = courses_[index];
  const double wanted = pilot_share * request_.seconds;
  // The first attempt touches new code and data.
  for (int attempt = 0; attempt < 2; ++attempt) {
    course.plan.operations = 1;
    if (Status status = make_trial(index, Kind::pilot); !status) return status;
    if (course.cost.seconds_per_operation > wanted) break;
  }
  while (true) {
    const double took =
        course.cost.seconds_per_operation * static_cast<double>(course.plan.operations);
    const std::int64_t next =
        next_pilot(course.plan.operations, took, wanted, cell.most_operations);
    if (next == course.plan.operations) return {};
    course.plan.operations = next;
    if (Status status = make_trial(index, Kind::pilot); !status) return status;
  }
}

bool Survey::predict(std::size_t index) {
  const Cell& cell = cells_[index];
  if (!is_many() || !moves_file(cell.operation) || cell.operation == Operation::cache_write ||
      cell.operation == Operation::cache_read) {
    return false;
  }
  const double rate = shape_.targets[static_cast<std::size_t>(cell.target)].bytes_per_second;
  if (rate >= slow_bytes_per_second) return false;
  courses_[index].cost.seconds_per_operation =
      std::max(usual_call_seconds, static_cast<double>(cell.bytes) * cell.ranks / rate);
  return true;
}

Status Survey::make_pilots() {
  std::vector<Cell> asked;
  std::swap(cells_, asked);  // cells_ then gets those that are kept
  for (const Cell& cell : asked) {
    const auto is_smaller = [&](std::size_t i) {
      const Cell& other = cells_[i];
      return other.operation == cell.operation && other.target == cell.target &&
             other.ranks == cell.ranks && other.bytes < cell.bytes;
    };
    std::optional<std::size_t> smaller;  // the next smaller cell, because sizes ascend
    for (std::size_t i = 0; moves_file(cell.operation) && i < cells_.size(); ++i) {
      if (is_smaller(i)) smaller = i;
    }
    if (smaller) {
      const double predicted = courses_[*smaller].cost.seconds_per_operation *
                               static_cast<double>(cell.bytes) /
                               static_cast<double>(cells_[*smaller].bytes);
      if (predicted > longest_operation_share * request_.seconds) {
        warnings_.push_back(fmt::format(
            "{} is left out, because one operation would take {:.1f} s: raise --seconds",
            describe(cell), predicted));
        continue;
      }
    }
    cells_.push_back(cell);
    courses_.emplace_back();
    courses_.back().cost.weight = cell.weight;
    if (!predict(cells_.size() - 1)) {
      if (Status status = make_pilot(cells_.size() - 1); !status) return status;
    }
  }
  return {};
}

void Survey::plan(double round_seconds) {
  std::vector<Cost> costs;
  costs.reserve(cells_.size());
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    const Cell& cell = cells_[i];
    Course& course = courses_[i];
    course.cost.most_operations = cell.most_operations;
    const bool from_file = moves_file(cell.operation) && cell.operation != Operation::cache_write &&
                           cell.operation != Operation::cache_read;
    if (from_file || cell.operation == Operation::bandwidth) {
      const double rate = course.cost.seconds_per_operation > 0
                              ? static_cast<double>(cell.bytes) / course.cost.seconds_per_operation
                              : 0;
      const std::int64_t unit = std::min(cell.bytes, MiB);
      const std::int64_t most = from_file ? cell.most_bytes : cell.most_operations * cell.bytes;
      const std::int64_t before = course.plan.lead_in_bytes;
      course.plan.lead_in_bytes =
          lead_in_bytes(from_file && is_many() ? lead_in_seconds_of_many : lead_in_seconds, rate,
                        cell.ranks, unit, cell.bytes, most);
      course.cost.most_operations = (most - course.plan.lead_in_bytes) / cell.bytes;
      if (rate > 0) {
        course.cost.overhead_seconds = overhead_with_lead_in(course.cost.overhead_seconds, before,
                                                             course.plan.lead_in_bytes, rate);
      }
    }
    if (cell.operation == Operation::bandwidth && course.cost.seconds_per_operation > 0) {
      course.cost.least_operations = static_cast<std::int64_t>(
          std::ceil(least_link_seconds / course.cost.seconds_per_operation));
    }
    costs.push_back(course.cost);
  }
  const std::vector<std::int64_t> operations = plan_operations(costs, round_seconds);
  for (std::size_t i = 0; i < cells_.size(); ++i) courses_[i].plan.operations = operations[i];
}

Status Survey::make_round(Kind kind, std::uint64_t seed) {
  if (Status status = instrument_.renew_payload(); !status) return status;
  for (const std::size_t index : shuffled(cells_.size(), seed)) {
    if (kind == Kind::counted && rounds_ > 0 && over_time()) return {};
    if (Status status = make_trial(index, kind); !status) return status;
  }
  return {};
}

Status Survey::measure() {
  if (Status status = make_pilots(); !status) return status;
  const int wanted = is_many() ? rounds_wanted_of_many : rounds_wanted;
  std::uint64_t seed = 1;
  if (!is_many()) {
    plan((request_.seconds - elapsed_) / (wanted + 1));
    if (Status status = make_round(Kind::rehearsal, seed++); !status) return status;
  }
  plan((request_.seconds - elapsed_) / wanted);
  double round_seconds = 0;
  while (another_round(rounds_, elapsed_, round_seconds, request_.seconds) &&
         !(rounds_ > 0 && over_time())) {
    const double before = elapsed_;
    if (Status status = make_round(Kind::counted, seed++); !status) return status;
    round_seconds = elapsed_ - before;
    ++rounds_;
  }
  if (rounds_ < least_rounds) {
    warnings_.push_back(
        fmt::format("there was time for {} of {} rounds: raise --seconds", rounds_, least_rounds));
  }
  return {};
}

std::string Survey::describe(const Cell& cell) const {
  std::string text = sample_names(cell.operation).front();
  if (cell.bytes >= MiB) {
    text += fmt::format(" {} MiB", cell.bytes / MiB);
  } else if (cell.bytes >= KiB) {
    text += fmt::format(" {} KiB", cell.bytes / KiB);
  }
  text += fmt::format(" by {} rank{}", cell.ranks, cell.ranks == 1 ? "" : "s");
  if (cell.target >= 0) {
    text += " in " + request_.directories[static_cast<std::size_t>(cell.target)];
  }
  return text;
}

void Survey::report_progress(const Cell& cell, Kind kind) {
  constexpr double interval_seconds = 0.5;
  if (job_.rank != 0 || !request_.progress_json || elapsed_ < reported_ + interval_seconds) return;
  reported_ = elapsed_;
  const nlohmann::ordered_json line = {
      {"progress",
       {{"label", "probe"},
        {"repetition", rounds_},
        {"warmup", kind != Kind::counted},
        {"repetitions_done", static_cast<std::int64_t>(elapsed_)},
        {"repetitions_planned", static_cast<std::int64_t>(std::max(elapsed_, request_.seconds))},
        {"text", fmt::format("{}: {}",
                             kind == Kind::counted ? fmt::format("round {}", rounds_ + 1)
                             : kind == Kind::pilot ? "pilot"
                                                   : "rehearsal",
                             describe(cell))}}}};
  fmt::print(stderr, "{}\n", line.dump());
  std::fflush(stderr);
}

nlohmann::ordered_json Survey::samples() const {
  auto all = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    const Cell& cell = cells_[i];
    const Course& course = courses_[i];
    const std::vector<std::string> names = sample_names(cell.operation);
    for (std::size_t j = 0; j < course.seconds.size(); ++j) {
      nlohmann::ordered_json sample = {
          {"operation", names[j]},         {"ranks", cell.ranks},
          {"operation_bytes", cell.bytes}, {"operations", course.plan.operations},
          {"directory", nullptr},          {"hosts", nlohmann::ordered_json::array()},
          {"seconds", course.seconds[j]}};
      if (cell.operation == Operation::shared_files) sample["shared_directory"] = true;
      if (cell.target >= 0) {
        sample["directory"] = request_.directories[static_cast<std::size_t>(cell.target)];
      }
      for (const int host : {cell.sender_host, cell.receiver_host}) {
        if (host < 0) continue;
        sample["hosts"].push_back(placement_.hosts[static_cast<std::size_t>(host)]);
      }
      all.push_back(std::move(sample));
    }
  }
  return all;
}

}  // namespace weir::bench::probe
