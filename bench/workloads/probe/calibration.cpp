#include "workloads/probe/calibration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include "common/page.hpp"
#include "interfaces/service_stagers.hpp"
#include "measurement/environment.hpp"
#include "measurement/node_processors.hpp"
#include "workloads/probe/trials.hpp"

namespace weir::bench::probe {
namespace {

using nlohmann::ordered_json;
using storage::Durability;

constexpr std::int64_t first_piece_bytes = std::int64_t{1} << 20;
constexpr std::int64_t usual_pieces = 8;
constexpr std::int64_t most_pieces = 256;
constexpr std::int64_t usual_trial_bytes = std::int64_t{32} << 20;  // by one rank
// The bytes that one rank sends over TCP to receivers, in the smallest trial and in the largest
// one.
constexpr std::int64_t least_sent_bytes = std::int64_t{4} << 20;
constexpr std::int64_t most_sent_bytes = std::int64_t{256} << 20;

}  // namespace

Result<double> Calibration::seconds_since(std::int64_t start_ns) const {
  return instrument_.meeting().from_first_rank(seconds_of(monotonic_ns() - start_ns));
}

Result<double> Calibration::seconds_taken(Operation operation, int ranks, std::int64_t operations) {
  const auto seconds = instrument_.trial(
      {.operation = operation, .ranks = ranks, .bytes = instrument_.buffer_bytes()},
      {.operations = operations});
  if (!seconds) return seconds.error();
  return seconds.value().front();
}

Result<double> Calibration::memory_copy(int ranks, std::int64_t copies) {
  const auto seconds = seconds_taken(Operation::memory_copy, ranks, copies);
  if (!seconds) return seconds.error();
  return static_cast<double>(copies * instrument_.buffer_bytes()) * ranks / seconds.value();
}

Result<ordered_json> Calibration::measure(double share, std::int64_t most, const Trial& trial) {
  const double share_seconds = share * request_.seconds;
  const std::int64_t start_ns = monotonic_ns();
  if (const auto warmup = trial(1); !warmup) return warmup.error();
  const auto warm_seconds = seconds_since(start_ns);
  if (!warm_seconds) return warm_seconds.error();
  const auto pilot = trial(1);
  if (!pilot) return pilot.error();
  const auto pilot_seconds = seconds_since(start_ns);
  if (!pilot_seconds) return pilot_seconds.error();
  const std::int64_t repeats =
      repeats_per_trial(share_seconds, pilot_seconds.value() - warm_seconds.value(), most);

  std::vector<double> values;
  if (repeats == 1) {
    values.push_back(pilot.value());  // the pilot was already a trial
  } else if (const auto rehearsal = trial(repeats); !rehearsal) {
    return rehearsal.error();
  }
  double spent = pilot_seconds.value();
  while (another_trial(static_cast<int>(values.size()), spent, share_seconds)) {
    const auto value = trial(repeats);
    if (!value) return value.error();
    values.push_back(value.value());
    const auto seconds = seconds_since(start_ns);
    if (!seconds) return seconds.error();
    spent = seconds.value();
  }
  return trials_json(values);
}

Status Calibration::measure_link(const LinkEnds& ends) {
  const auto link = StagerLink::connect(job_, instrument_.meeting(), ends);
  if (!link) return link.error();
  const std::span<const std::byte> memory(instrument_.buffer(0),
                                          static_cast<std::size_t>(piece_bytes_));
  // Fewer bytes would be mostly the last answer.
  const std::int64_t at_once = std::max<std::int64_t>(1, least_sent_bytes / piece_bytes_);
  const std::int64_t most = std::max<std::int64_t>(1, most_sent_bytes / (at_once * piece_bytes_));
  auto trials = measure(Shares::link, most,
                        [&](std::int64_t n) { return link.value()->send(memory, n * at_once); });
  if (!trials) return trials.error();
  figures_["links"].push_back({{"stagers", ends.stagers},
                               {"receivers", ends.receivers},
                               {"bytes_per_second", std::move(trials).value()}});
  return {};
}

Status Calibration::measure_links() {
  std::vector<LinkEnds> links = request_.links;
  if (!request_.service.empty()) {
    Status status;
    double stagers = 0;
    if (job_.rank == 0 && job_.nodes == 1) {
      const auto found = stagers_on_this_node(request_.service);
      if (found) stagers = static_cast<double>(found.value());
      if (!found) status = found.error();
    }
    if (Status met = instrument_.meeting().meet(std::move(status)); !met) return met;
    const auto told = instrument_.meeting().from_first_rank(stagers);
    if (!told) return told.error();
    if (told.value() > 0) links.push_back({.stagers = static_cast<std::int64_t>(told.value())});
  }
  for (const LinkEnds& ends : links) {
    if (Status status = measure_link(ends); !status) return status;
  }
  return {};
}

// A trial moves a whole file of the run's size. It needs few large pieces, but many small ones, so
// that it lasts longer than a disturbance: small files are moved several times.
std::int64_t Calibration::pieces_per_trial(std::int64_t piece_bytes) const {
  const std::int64_t usual =
      std::clamp<std::int64_t>(usual_trial_bytes / piece_bytes, usual_pieces, most_pieces);
  return std::max(usual, file_.pieces_per_file(piece_bytes));
}

// Finds the largest piece, up to the requested size, for which the least number of trials fits the
// time.
Status Calibration::find_piece() {
  const double limit_seconds = Shares::write_storage * request_.seconds / (least_trials + 2);
  const std::int64_t wanted = piece_bytes_;
  std::int64_t piece = std::min(first_piece_bytes, wanted);
  while (true) {
    if (Status status = instrument_.provide_buffers(piece); !status) return status;
    // The better of two attempts counts: the first touches new memory, and a short one is easily
    // disturbed.
    double seconds = std::numeric_limits<double>::infinity();
    for (int attempt = 0; attempt < 2; ++attempt) {
      const auto rate = file_.write(1, piece, Durability::full);
      if (!rate) return rate.error();
      seconds = std::min(seconds, static_cast<double>(piece) * job_.size / rate.value());
    }
    const std::int64_t next = grown_piece(piece, wanted, seconds, limit_seconds);
    if (next == piece) break;
    piece = next;
  }
  piece_bytes_ = request_.direct ? std::max(page_bytes, piece / page_bytes * page_bytes) : piece;
  return instrument_.provide_buffers(std::max(piece, room_.copy_bytes));
}

Status Calibration::measure_all() {
  const auto processors = processors_of_a_node(job_);
  if (!processors) return processors.error();
  processors_ = processors.value();
  if (Status status = find_piece(); !status) return status;
  if (job_.rank == 0 && piece_bytes_ < request_.transfer_bytes) {
    fmt::print(stderr,
               "weir-bench: calibrating with pieces of {} bytes instead of {}, to stay within "
               "--seconds {}, the free memory and the free disk\n",
               piece_bytes_, request_.transfer_bytes, request_.seconds);
  }
  const std::int64_t pieces = pieces_per_trial(piece_bytes_);
  // The data that drains to storage after many transfers does not depend on their size.
  const std::int64_t once_bytes = std::max(
      piece_bytes_, std::min({first_piece_bytes, room_.copy_bytes, room_.file_bytes}) / 8 * 8);
  // The smallest trial of the page cache, because a small piece between two meetings is mostly the
  // meetings' time.
  const std::int64_t at_once = std::clamp<std::int64_t>(bytes_between_meetings / piece_bytes_, 1,
                                                        file_.pieces_per_file(piece_bytes_));
  const std::int64_t once_pieces = pieces_per_trial(once_bytes);
  constexpr std::int64_t most_copies = 64;
  constexpr std::int64_t operations_at_once = 1 << 20;
  constexpr std::int64_t most_operations = 1 << 12;
  constexpr std::int64_t calls_at_once = 100;
  constexpr std::int64_t barriers_at_once = 10;
  constexpr std::int64_t most_rounds = 1000;

  struct Figure {
    const char* name;
    double share;
    std::int64_t most;
    Trial trial;
  };
  const std::vector<Figure> of_memory = {
      {"memory_copy_one_rank_bytes_per_second", Shares::memory_copy_one_rank, most_copies,
       [this](std::int64_t n) { return memory_copy(1, n); }},
      {"memory_copy_bytes_per_second", Shares::memory_copy, most_copies,
       [this](std::int64_t n) { return memory_copy(job_.size, n); }},
      {"write_cache_bytes_per_second", Shares::write_cache, pieces / at_once,
       [this, at_once](std::int64_t n) {
         return file_.write(n * at_once, piece_bytes_, Durability::none);
       }},
      {"read_cache_bytes_per_second", Shares::read_cache, pieces / at_once,
       [this, at_once](std::int64_t n) {
         auto rate = file_.read_new_pages(n * at_once, piece_bytes_);
         cached_bytes_ = file_.bytes();
         return rate;
       }},
  };
  const std::vector<Figure> of_calls = {
      {"fsync_seconds", Shares::fsync, 1, [this](std::int64_t) { return file_.fsync(); }},
      {"call_seconds", Shares::call, most_rounds,
       [this](std::int64_t n) { return file_.call(n * calls_at_once); }},
      {"barrier_seconds", Shares::barrier, most_rounds,
       [this](std::int64_t n) -> Result<double> {
         const auto seconds = seconds_taken(Operation::barrier, job_.size, n * barriers_at_once);
         if (!seconds) return seconds.error();
         return seconds.value() / static_cast<double>(n * barriers_at_once);
       }},
      {"busy_work_operations_per_second", Shares::busy_work, most_operations,
       [this](std::int64_t n) -> Result<double> {
         const auto seconds =
             seconds_taken(Operation::busy_work, job_.size, n * operations_at_once);
         if (!seconds) return seconds.error();
         return static_cast<double>(n * operations_at_once) / seconds.value();
       }},
  };
  const std::vector<Figure> by_page_cache = {
      {"write_storage_bytes_per_second", Shares::write_storage, pieces,
       [this](std::int64_t n) { return file_.write(n, piece_bytes_, Durability::full); }},
      {"write_synced_once_bytes_per_second", Shares::write_synced_once, once_pieces,
       [this, once_bytes](std::int64_t n) {
         auto rate = file_.write_synced_once(n, once_bytes);
         synced_once_bytes_ = file_.bytes();
         return rate;
       }},
      {"read_storage_bytes_per_second", Shares::read_storage, pieces,
       [this](std::int64_t n) {
         storage_read_bytes_ = std::min(n * piece_bytes_, file_.bytes());
         return file_.read_dropped_pages(n, piece_bytes_);
       }},
      {"first_read_seconds", Shares::first_read, 1,
       [this](std::int64_t) { return file_.first_read(piece_bytes_); }},
  };
  const std::vector<Figure> by_direct = {
      {"write_storage_bytes_per_second", Shares::write_storage, pieces,
       [this](std::int64_t n) { return file_.write_direct(n, piece_bytes_); }},
      {"read_storage_bytes_per_second", Shares::read_storage, pieces,
       [this](std::int64_t n) {
         storage_read_bytes_ = std::min(n * piece_bytes_, file_.bytes());
         return file_.read_direct(n, piece_bytes_);
       }},
  };
  const std::vector<Figure>& of_storage = request_.direct ? by_direct : by_page_cache;
  for (const std::vector<Figure>* const part : {&of_memory, &of_storage, &of_calls}) {
    for (const Figure& figure : *part) {
      auto trials = measure(figure.share, figure.most, figure.trial);
      if (!trials) return trials.error();
      figures_[figure.name] = std::move(trials).value();
    }
  }
  return measure_links();
}

ordered_json Calibration::result() const {
  std::error_code error;
  ordered_json result;
  result["format"] = "weir-calibration";
  result["format_version"] = 1;
  result["measured_utc"] = utc_now();
  result["ranks"] = job_.size;
  result["hosts"] = job_.nodes;
  result["directory"] = std::filesystem::canonical(request_.directory, error).string();
  result["file_system"] = file_system_type(request_.directory);
  result["memory_available_bytes"] = room_.memory_available;
  if (processors_ > 0) result["processors"] = processors_;
  result["transfer_bytes"] = piece_bytes_;
  result["shared_file"] = request_.shared_file;
  result["direct"] = request_.direct;
  result["bytes_per_rank"] = room_.file_bytes;
  result["cached_bytes_per_rank"] = cached_bytes_;
  result["storage_read_bytes_per_rank"] = storage_read_bytes_;
  result["synced_once_bytes"] = synced_once_bytes_;
  result.update(figures_);
  result["seconds"] = seconds_of(monotonic_ns() - began_ns_);
  return result;
}

}  // namespace weir::bench::probe
