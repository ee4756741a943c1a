#include "workloads/probe/instrument.hpp"

#include <fmt/format.h>
#include <mpi.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "array/copy.hpp"
#include "common/clock.hpp"
#include "common/page.hpp"
#include "measurement/busy_work.hpp"
#include "workloads/probe/bursts.hpp"
#include "workloads/probe/empty_items.hpp"
#include "workloads/probe/messages.hpp"

namespace weir::bench::probe {
namespace {

using storage::Durability;

constexpr std::int64_t row_stride = 8;  // distance between the rows of a rank that copies
constexpr std::int64_t checked_bytes = 256 * KiB;  // of the data that a trial has read

Pattern pattern_of(Operation operation) {
  switch (operation) {
    case Operation::cache_write:
      return {.direction = Direction::write};
    case Operation::storage_write:
      return {.direction = Direction::write, .durability = Durability::full};
    case Operation::direct_write:
      return {.direction = Direction::write, .direct = true};
    case Operation::direct_read:
      return {.direction = Direction::read, .direct = true};
    default:
      return {.direction = Direction::read};
  }
}

bool is_cached(Operation operation) {
  return operation == Operation::cache_write || operation == Operation::cache_read;
}

Waiting waiting_of(bool takes_part) { return takes_part ? Waiting::awake : Waiting::asleep; }

}  // namespace

Placement find_placement(const Job& job) {
  Placement placement;
  const std::array<int, 2> own{job.node_index, job.node_rank};
  std::vector<int> all(2 * static_cast<std::size_t>(job.size));
  MPI_Allgather(own.data(), 2, MPI_INT, all.data(), 2, MPI_INT, job.world);
  placement.world_rank.resize(static_cast<std::size_t>(job.nodes));
  placement.host_ranks.resize(static_cast<std::size_t>(job.nodes), 0);
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(job.size); ++rank) {
    const auto host = static_cast<std::size_t>(all[2 * rank]);
    const auto on_host = static_cast<std::size_t>(all[2 * rank + 1]);
    auto& ranks = placement.world_rank[host];
    if (ranks.size() <= on_host) ranks.resize(on_host + 1);
    ranks[on_host] = static_cast<int>(rank);
    ++placement.host_ranks[host];
  }
  placement.position = position_of(placement.host_ranks, job.node_index, job.node_rank);

  constexpr std::size_t name_bytes = 256;
  std::array<char, name_bytes> name{};
  job.host.copy(name.data(), name.size() - 1);
  std::vector<char> names(name_bytes * static_cast<std::size_t>(job.nodes));
  if (job.leaders != MPI_COMM_NULL) {
    MPI_Allgather(name.data(), name_bytes, MPI_CHAR, names.data(), name_bytes, MPI_CHAR,
                  job.leaders);
  }
  MPI_Bcast(names.data(), static_cast<int>(names.size()), MPI_CHAR, 0, job.node);
  for (std::size_t host = 0; host < static_cast<std::size_t>(job.nodes); ++host) {
    placement.hosts.emplace_back(names.data() + host * name_bytes);
  }
  return placement;
}

Status Instrument::provide_buffers(std::int64_t bytes) {
  if (buffers_.bytes_each() >= bytes) return {};
  buffers_ = Ring();  // frees the old buffers first
  Status status;
  if (auto pair = Ring::create(2, bytes)) {
    buffers_ = std::move(pair).value();
  } else {
    status = pair.error();
  }
  return meeting_.meet(std::move(status));
}

Status Instrument::add_target(const std::string& folder) {
  targets_.emplace_back(guard_, folder + "/data", static_cast<std::uint32_t>(job_.rank));
  // The file lies in the folder of the host's first rank.
  const std::string job_folder = folder.substr(0, folder.rfind('/'));
  shared_files_.emplace_back(
      guard_, fmt::format("{}/rank-{}/shared", job_folder, job_.node_world_ranks.front()));
  if (mkdir(folder.c_str(), 0777) != 0) {
    return meeting_.meet(system_failure("mkdir", folder, -1, errno));
  }
  return meeting_.meet(targets_.back().make());
}

Status Instrument::renew_payload() {
  ++generation_;
  // A rank's files on all targets have the same payload.
  if (!targets_.empty()) {
    targets_.front().fill(written_image(), 0, buffers_.bytes_each(), generation_);
  }
  return meeting_.meet({});
}

Result<double> Instrument::write_files(int target, std::int64_t bytes) {
  TargetFile& file = targets_[static_cast<std::size_t>(target)];
  if (Status status = meeting_.meet({}); !status) return status.error();
  Times times;
  constexpr std::int64_t large_piece = 4 * MiB;
  const std::int64_t piece = std::min(bytes, large_piece);
  const Pattern writing{.direction = Direction::write};
  Status status =
      file.move(writing, {.bytes = piece, .count = bytes / piece}, written_image(), &times);
  const std::int64_t done = bytes / piece * piece;
  if (status && done < bytes) {
    Times rest;
    status = file.move(writing, {.begin = done, .bytes = bytes - done, .count = 1}, written_image(),
                       &rest);
  }
  if (status) status = file.sync();
  times.end_ns = monotonic_ns();
  if (status) file.wrote(bytes, generation_);
  return seconds_of_span(std::move(status), times, true);
}

Result<bool> Instrument::open_direct(int target) {
  const auto opened = targets_[static_cast<std::size_t>(target)].open_direct(read_image());
  const bool refused = opened && !opened.value();
  if (Status status = meeting_.meet(opened ? Status() : opened.error()); !status) {
    return status.error();
  }
  const auto refusals = meeting_.slowest(refused ? 1 : 0);
  if (!refusals) return refusals.error();
  return refusals.value() == 0;
}

Result<double> Instrument::resident_after_drop(int target, std::int64_t bytes) {
  TargetFile& file = targets_[static_cast<std::size_t>(target)];
  if (Status status = meeting_.meet(file.drop_pages(0, bytes)); !status) return status.error();
  return meeting_.slowest(file.resident(bytes).value_or(0));
}

Result<double> Instrument::seconds_of_span(Status mine, const Times& times, bool takes_part) {
  const auto span_ns = meeting_.span(std::move(mine), times, waiting_of(takes_part));
  if (!span_ns) return span_ns.error();
  return seconds_of(span_ns.value());
}

Result<std::vector<double>> Instrument::trial(const Cell& cell, const TrialPlan& plan) {
  ++trials_;
  const auto single = [&]() -> Result<double> {
    switch (cell.operation) {
      case Operation::memory_copy:
        return copy_memory(cell, plan.operations);
      case Operation::run_copy:
        return copy_runs(cell, plan.operations);
      case Operation::busy_work:
        return work(cell, plan.operations);
      case Operation::barrier:
        return meet(plan.operations);
      case Operation::call:
        return call(cell, plan.operations);
      case Operation::shared_write:
        return write_shared(cell, plan.operations);
      case Operation::fsync:
        return sync(cell, plan.operations);
      case Operation::latency:
      case Operation::bandwidth:
        return message(cell, plan);
      default:
        return move_file(cell, plan);
    }
  };
  if (makes_items(cell.operation)) return make_items(cell, plan.operations);
  const auto seconds = single();
  if (!seconds) return seconds.error();
  return std::vector<double>{seconds.value()};
}

Status Instrument::make_ready(const Cell& cell, std::int64_t end, bool takes_part) {
  if (!takes_part) return {};
  TargetFile& file = file_of(cell);
  if (cell.operation == Operation::storage_read) return file.drop_pages(0, end);
  if (!is_cached(cell.operation)) return {};
  // Earlier operations may have evicted the pages from the cache.
  Times untimed;
  return file.move({.direction = Direction::read}, {.bytes = cell.bytes, .count = end / cell.bytes},
                   read_image(), &untimed);
}

Status Instrument::finish(const Cell& cell, std::int64_t end, bool takes_part) {
  if (!takes_part) return {};
  TargetFile& file = file_of(cell);
  if (pattern_of(cell.operation).direction == Direction::write) {
    file.wrote(end, generation_);
    // Nothing may remain to be written back during the next trial.
    return cell.operation == Operation::cache_write ? file.sync() : Status();
  }
  const std::int64_t bytes = std::min(checked_bytes, end);
  // Each check starts at another offset.
  const std::int64_t begin = trials_ * page_bytes % (end - bytes + page_bytes);
  return file.check(read_image(), begin, std::min(end, begin + bytes));
}

Result<double> Instrument::move_file(const Cell& cell, const TrialPlan& plan) {
  const bool mine = takes_part(cell);
  const Pattern pattern = pattern_of(cell.operation);
  std::byte* const image = pattern.direction == Direction::write ? written_image() : read_image();
  const std::int64_t end = plan.lead_in_bytes + plan.operations * cell.bytes;
  if (Status status = meeting_.meet(make_ready(cell, end, mine)); !status) return status.error();

  Status status;
  Times times;
  if (mine && plan.lead_in_bytes > 0) {
    const std::int64_t piece = std::min(cell.bytes, MiB);
    status = file_of(cell).move(pattern, {.bytes = piece, .count = plan.lead_in_bytes / piece},
                                image, &times);
  }
  if (status = meeting_.meet(std::move(status), waiting_of(mine)); !status) return status.error();

  times.start_ns = times.end_ns = monotonic_ns();
  std::vector<std::int64_t> ends;
  if (mine) {
    status = file_of(cell).move(
        pattern, {.begin = plan.lead_in_bytes, .bytes = cell.bytes, .count = plan.operations},
        image, &times, &ends);
  }
  const auto span = meeting_.start_and_span(std::move(status), times, waiting_of(mine));
  if (!span) return span.error();
  auto seconds = seconds_in_bursts(span.value(), ends);
  if (!seconds) return seconds;
  if (status = meeting_.meet(finish(cell, end, mine), waiting_of(mine)); !status) {
    return status.error();
  }
  return seconds;
}

Result<double> Instrument::seconds_in_bursts(const Meeting::Span& span,
                                             const std::vector<std::int64_t>& ends) {
  const double seconds = seconds_of(span.ns);
  if (seconds < 2 * least_gap_seconds) return seconds;
  std::vector<std::int64_t> done(curve_places);
  for (const std::int64_t end : ends) {
    const double share = static_cast<double>(meeting_.on_first_rank(end) - span.start_ns) /
                         static_cast<double>(span.ns);
    const auto place = static_cast<std::int64_t>(share * static_cast<double>(curve_places));
    ++done[static_cast<std::size_t>(
        std::clamp<std::int64_t>(place, 0, static_cast<std::int64_t>(curve_places) - 1))];
  }
  if (Status status = meeting_.sum(&done); !status) return status.error();
  return bursts_seconds(done, seconds).value_or(seconds);
}

Result<double> Instrument::copy_memory(const Cell& cell, std::int64_t operations) {
  if (Status status = meeting_.meet({}); !status) return status.error();
  const bool mine = takes_part(cell);
  Times times;
  times.start_ns = monotonic_ns();
  for (std::int64_t i = 0; mine && i < operations; ++i) {
    std::memcpy(read_image(), written_image(), static_cast<std::size_t>(cell.bytes));
    // The copy must happen although nothing reads its result.
    asm volatile("" : : "r"(read_image()) : "memory");
  }
  times.end_ns = monotonic_ns();
  return seconds_of_span({}, times, mine);
}

Result<double> Instrument::copy_runs(const Cell& cell, std::int64_t operations) {
  if (Status status = meeting_.meet({}); !status) return status.error();
  const bool mine = takes_part(cell);
  // This copies like a rank whose rows go into a buffer: packed on one side, far apart on the
  // other.
  const std::int64_t stride = row_stride * cell.bytes;
  const std::int64_t rows = buffers_.bytes_each() / stride;
  Times times;
  times.start_ns = monotonic_ns();
  for (std::int64_t done = 0; mine && done < operations;) {
    const std::int64_t count = std::min(rows, operations - done);
    array::StridedCopy copy;
    copy.bytes = cell.bytes;
    if (count > 1) copy.levels.push_back({count, cell.bytes, stride});
    copy.run(written_image(), read_image());
    // The copy must happen although nothing reads its result.
    asm volatile("" : : "r"(read_image()) : "memory");
    done += count;
  }
  times.end_ns = monotonic_ns();
  return seconds_of_span({}, times, mine);
}

Result<double> Instrument::work(const Cell& cell, std::int64_t operations) {
  if (Status status = meeting_.meet({}); !status) return status.error();
  const bool mine = takes_part(cell);
  Times times;
  times.start_ns = monotonic_ns();
  if (mine) consumed_ += busy_work(operations, {});
  times.end_ns = monotonic_ns();
  return seconds_of_span({}, times, mine);
}

Result<double> Instrument::meet(std::int64_t operations) {
  if (Status status = meeting_.meet({}); !status) return status.error();
  Times times;
  times.start_ns = monotonic_ns();
  for (std::int64_t i = 0; i < operations; ++i) {
    if (Status status = meeting_.meet({}); !status) return status.error();
  }
  times.end_ns = monotonic_ns();
  return seconds_of_span({}, times, true);
}

Result<double> Instrument::call(const Cell& cell, std::int64_t operations) {
  const bool mine = takes_part(cell);
  const Pattern reading{.direction = Direction::read};
  Times times;
  Status status;
  if (mine) {
    status = file_of(cell).move(reading, {.bytes = page_bytes, .count = 1}, read_image(), &times);
  }
  if (status = meeting_.meet(std::move(status)); !status) return status.error();
  times.start_ns = times.end_ns = monotonic_ns();
  if (mine) status = file_of(cell).read_words(operations, read_image(), &times);
  return seconds_of_span(std::move(status), times, mine);
}

Result<double> Instrument::write_shared(const Cell& cell, std::int64_t operations) {
  SharedFile& file = shared_files_[static_cast<std::size_t>(cell.target)];
  const bool mine = takes_part(cell);
  Times times;
  Status status;
  if (job_.node_rank == 0) status = file.make(written_image());
  if (status = meeting_.meet(std::move(status)); !status) return status.error();
  status = file.open();
  if (status && mine) {
    status = file.write_rows(operations, job_.node_rank, job_.node_size, written_image(), &times);
  }
  if (status = meeting_.meet(std::move(status), waiting_of(mine)); !status) return status.error();
  times.start_ns = times.end_ns = monotonic_ns();
  if (mine) {
    status = file.write_rows(operations, job_.node_rank, job_.node_size, written_image(), &times);
  }
  auto seconds = seconds_of_span(std::move(status), times, mine);
  if (!seconds) return seconds;
  if (status = meeting_.meet(mine ? file.sync() : Status()); !status) return status.error();
  return seconds;
}

Result<double> Instrument::sync(const Cell& cell, std::int64_t operations) {
  if (Status status = meeting_.meet({}); !status) return status.error();
  const bool mine = takes_part(cell);
  double seconds = 0;
  Status status;
  if (mine) status = file_of(cell).append_and_sync(operations, written_image(), &seconds);
  if (status = meeting_.meet(std::move(status), waiting_of(mine)); !status) return status.error();
  return meeting_.slowest(seconds);
}

// Does each step on all items that the previous step has left.
Result<std::vector<double>> Instrument::make_items(const Cell& cell, std::int64_t operations) {
  const bool mine = takes_part(cell);
  const bool shared = cell.operation == Operation::shared_files;
  const std::string own = file_of(cell).folder();
  const std::string folder =
      (shared ? own.substr(0, own.rfind('/')) + "/rank-0" : own) + "/empty-items";
  EmptyItems items(guard_, folder, job_.rank, mine ? operations : 0);
  const bool makes_folder = shared ? job_.rank == 0 : mine;
  if (Status status = meeting_.meet(makes_folder ? items.make_folder() : Status()); !status) {
    return status.error();
  }
  std::vector<double> all;
  for (const ItemStep& step : item_steps(shared)) {
    if (Status status = meeting_.meet({}); !status) return status.error();
    Times times;
    times.start_ns = times.end_ns = monotonic_ns();
    Status status;
    if (step.each != nullptr) {
      status = (items.*step.each)(&times);
    } else if (mine) {
      status = (items.*step.folder)(&times, operations);
    }
    const auto seconds = seconds_of_span(std::move(status), times, mine);
    if (!seconds) return seconds.error();
    all.push_back(seconds.value());
  }
  if (Status status = meeting_.meet(makes_folder ? items.remove_folder() : Status()); !status) {
    return status.error();
  }
  return all;
}

Result<double> Instrument::message(const Cell& cell, const TrialPlan& plan) {
  const auto senders = static_cast<int>(cell.ranks);
  const bool inside = cell.sender_host == cell.receiver_host;
  // Inside a host, rank 2i sends to rank 2i + 1; between hosts, each rank sends to its counterpart.
  const auto host_ranks = [this](int host) {
    return placement_.world_rank[static_cast<std::size_t>(host)];
  };
  Role role = Role::sender;
  int other = -1;
  if (inside && job_.node_index == cell.sender_host && job_.node_rank < 2 * senders) {
    role = job_.node_rank % 2 == 0 ? Role::sender : Role::receiver;
    other = host_ranks(cell.sender_host)[static_cast<std::size_t>(job_.node_rank ^ 1)];
  } else if (!inside && job_.node_rank < senders &&
             (job_.node_index == cell.sender_host || job_.node_index == cell.receiver_host)) {
    role = job_.node_index == cell.sender_host ? Role::sender : Role::receiver;
    const int host = role == Role::sender ? cell.receiver_host : cell.sender_host;
    other = host_ranks(host)[static_cast<std::size_t>(job_.node_rank)];
  }
  const bool mine = other >= 0;
  const auto send = [&](std::int64_t messages, Times* times) {
    times->start_ns = times->end_ns = monotonic_ns();
    if (!mine || messages == 0) return Status();
    std::byte* const memory = role == Role::sender ? written_image() : read_image();
    return cell.operation == Operation::latency
               ? exchange_messages(job_, other, role, messages, times)
               : stream_messages(job_, other, role, memory, cell.bytes, messages, times);
  };
  if (Status status = meeting_.meet({}); !status) return status.error();
  Times times;
  Status status = send(plan.lead_in_bytes / std::max<std::int64_t>(1, cell.bytes), &times);
  if (status = meeting_.meet(std::move(status), waiting_of(mine)); !status) return status.error();
  status = send(plan.operations, &times);
  return seconds_of_span(std::move(status), times, mine);
}

}  // namespace weir::bench::probe
