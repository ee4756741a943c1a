#include "workloads/output/execute.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>

#include "common/clock.hpp"
#include "measurement/busy_work.hpp"

namespace weir::bench::output {
namespace {

constexpr std::int64_t looks_per_step = 32;  // during busy work, at files that were handed over

// Compares the elements of a rank's box. The offset is in the whole array, as of variables.
std::optional<PayloadMismatch> difference(const ArrayBox& box,
                                          const std::vector<std::byte>& written,
                                          const std::vector<std::byte>& found) {
  const auto wrong = std::mismatch(written.begin(), written.end(), found.begin()).first;
  if (wrong == written.end()) return std::nullopt;
  const std::int64_t place = wrong - written.begin();
  PayloadMismatch mismatch;
  for_each_run(box.runs(), [&](std::int64_t in_memory, std::int64_t in_array, std::int64_t bytes) {
    if (place < in_memory || place >= in_memory + bytes) return true;
    mismatch.first_byte = static_cast<std::uint64_t>(in_array + place - in_memory);
    return false;
  });
  mismatch.bytes_wrong = static_cast<std::uint64_t>(written.end() - wrong);
  mismatch.text = "these bytes were never written there";
  return mismatch;
}

}  // namespace

Executor::Executor(const Job& job, FailureGuard& guard, const CoreSettings& core,
                   const Options& options, Content& content)
    : job_(job),
      guard_(guard),
      core_(core),
      options_(options),
      content_(content),
      kinds_(content.kinds()) {}

Executor::~Executor() = default;

Status Executor::meet(Status mine, std::int64_t* wait_ns) {
  return agree_on(job_, std::move(mine), &failed_rank_, wait_ns);
}

std::int64_t Executor::memory_bytes(const Content& content) {
  return Ring::memory_bytes(1, buffer_bytes(content, content.fullest_rank())) +
         content.memory_bytes();
}

Status Executor::begin() {
  guard_.entering("preparing what is written", nullptr, -1);
  // A rank without elements has a buffer too.
  auto memory = Ring::create(1, std::max<std::int64_t>(1, buffer_bytes(content_, job_.rank)));
  Status status = memory ? Status() : memory.error();
  if (memory) {
    memory_ = std::move(memory).value();
    content_.prepare(job_.rank);
    for (const bool netcdf : {false, true}) {
      for (const Form& form : forms_of(content_, netcdf)) parts_[form] = make_part(form);
    }
  }
  guard_.left();
  if (status = meet(std::move(status)); !status) return status;
  return options_.work_seconds > 0 ? measure_work() : Status();
}

Executor::Part Executor::make_part(const Form& form) const {
  Part part{.arrays = content_.arrays(form, job_.rank)};
  const std::vector<std::int64_t> places = places_of(part.arrays);
  for (std::size_t i = 0; i < part.arrays.size(); ++i) {
    const FileArray& one = part.arrays[i];
    part.boxes.push_back(one.box);
    part.bytes += one.box.bytes();
    const bool is_variable = one.variable >= 0;
    part.elements.push_back(is_variable ? std::vector<std::byte>()
                                        : content_.elements(form, one, job_.rank));
    part.memory.push_back(is_variable ? memory_.at(0) + places[i] : part.elements.back().data());
  }
  return part;
}

// All ranks work at the same time, as they do between output steps. All do as much work as the
// slowest does in the time that was asked for.
Status Executor::measure_work() {
  constexpr std::int64_t sample = 1 << 24;
  constexpr int samples = 3;
  if (Status status = meet({}); !status) return status;
  double rate = 0;  // operations per nanosecond
  for (int i = 0; i < samples; ++i) {
    const std::int64_t start = monotonic_ns();
    work_value_ += busy_work(sample, {});
    const auto taken = static_cast<double>(std::max<std::int64_t>(1, monotonic_ns() - start));
    rate = std::max(rate, static_cast<double>(sample) / taken);
  }
  double least = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Iallreduce(&rate, &least, 1, MPI_DOUBLE, MPI_MIN, job_.world, &request);
  if (Status status = wait_for(request, job_.deadline_ns(), "the rates of busy work"); !status) {
    return status;
  }
  work_operations_ = static_cast<std::int64_t>(options_.work_seconds * 1e9 * least);
  return {};
}

Executor::Part& Executor::part_of(const Turn& turn, Direction direction) {
  const bool netcdf = turn.configuration.variant.api->can.netcdf;
  return parts_[{.kind = turn.kind,
                 .netcdf = netcdf,
                 .direction = content_.redivides() ? direction : Direction::write}];
}

std::string Executor::path_of(const Turn& turn) const {
  return fmt::format("{}/{}", turn.configuration.folder,
                     content_.file_name(turn.kind, turn.number, *turn.configuration.variant.api));
}

// Each variable of each file of each repetition has elements of its own.
ElementPayload Executor::payload_of(const Turn& turn, const FileArray& array) const {
  std::int64_t file = turn.number;
  for (std::size_t kind = 0; kind < turn.kind; ++kind) file += kinds_[kind].files;
  return {{.seed = turn.configuration.payload_seed,
           .file = static_cast<std::uint32_t>(file * content_.variables() + array.variable),
           .generation = static_cast<std::uint32_t>(turn.repetition) + 1,
           .compressible_percent = core_.compressible_percent},
          array.box.type,
          array.box.array_bytes()};
}

Status Executor::make_folder(const Configuration& configuration) const {
  std::error_code error;
  std::filesystem::remove_all(configuration.folder, error);
  if (error) return system_failure("remove", configuration.folder, -1, error.value());
  if (mkdir(configuration.folder.c_str(), 0755) == 0) return {};
  return system_failure("mkdir", configuration.folder, -1, errno);
}

Status Executor::remove_files(const Configuration& configuration) {
  std::error_code error;
  if (job_.rank == 0) std::filesystem::remove_all(configuration.folder, error);
  return meet(error ? Status(system_failure("remove", configuration.folder, -1, error.value()))
                    : Status());
}

Result<OutputRecord> Executor::run(const Configuration& configuration, std::int32_t repetition) {
  OutputRecord record;
  record.stager_wait_ns.resize(kinds_.size());
  Status status = job_.rank == 0 ? make_folder(configuration) : Status();
  if (status = meet(std::move(status)); !status) return status.error();
  for (std::int64_t step = 0; step < steps_of(kinds_); ++step) {
    for (std::size_t kind = 0; kind < kinds_.size(); ++kind) {
      if (step >= kinds_[kind].files) continue;
      status = write_file({configuration, repetition, kind, step}, record);
      if (!status) return status.error();
    }
    if (status = meet(work(record)); !status) return status.error();
  }
  if (status = meet(settle(record)); !status) return status.error();
  if (!core_.verify) return record;
  for (std::size_t kind = 0; kind < kinds_.size(); ++kind) {
    for (std::int64_t number = 0; number < kinds_[kind].files; ++number) {
      status = read_file({configuration, repetition, kind, number}, record);
      if (!status) return status.error();
    }
  }
  return record;
}

std::string Executor::staging_of(const Variant& variant) const {
  switch (variant.staging) {
    case Staging::none:
      return "none";
    case Staging::node:
      return "node";
    case Staging::ranks:
      return "ranks";
    case Staging::service:
      return "service:" + options_.service;
  }
  return "none";
}

Result<Session*> Executor::session_of(const Variant& variant) {
  std::unique_ptr<Session>& session = sessions_[{variant.api, variant.staging}];
  if (session == nullptr) {
    auto opened =
        open_session(*variant.api, {.communicator = job_.world,
                                    .deadline_seconds = job_.deadline_seconds,
                                    .striping = core_.striping,
                                    .durability = core_.durability,
                                    .hints_file = options_.hints_file,
                                    .opened_hints = job_.opened_hints.get(),
                                    .staging = staging_of(variant),
                                    .in_journal = variant.is_staged() && options_.in_journal});
    if (!opened) return opened.error();
    session = std::move(opened).value();
  }
  return session.get();
}

Result<std::unique_ptr<File>> Executor::open(const Turn& turn, const std::string& path,
                                             Direction direction) {
  auto session = session_of(turn.configuration.variant);
  if (!session) return session.error();
  const bool write = direction == Direction::write;
  return session.value()->open({.communicator = job_.world,
                                .path = path,
                                .write = write,
                                .create = write,
                                .arrays = &part_of(turn, direction).boxes});
}

void Executor::fill(const Turn& turn) {
  const Part& part = part_of(turn, Direction::write);
  for (std::size_t i = 0; i < part.arrays.size(); ++i) {
    const FileArray& array = part.arrays[i];
    if (array.variable < 0) continue;
    payload_of(turn, array).fill(array.box.runs(), part.memory[i]);
  }
}

Status Executor::write_file(const Turn& turn, OutputRecord& record) {
  const Part& part = part_of(turn, Direction::write);
  const std::string path = path_of(turn);
  const bool staged = turn.configuration.variant.is_staged();
  fill(turn);
  // A session is opened with its first file, but outside the file's time.
  guard_.entering("opening the interface", &path, -1);
  auto session = session_of(turn.configuration.variant);
  guard_.left();
  Status status = meet(session ? Status() : session.error());
  if (!status) return status;
  Event event{.repetition = turn.repetition,
              .function = kinds_[turn.kind].function,
              .operation = Operation::write,
              .bin = static_cast<std::int32_t>(turn.number),
              .bytes = part.bytes};
  std::int64_t wait_ns = 0;
  const auto blocked_since = [&](std::int64_t start) {
    event.end_ns = monotonic_ns();
    event.foreground_ns += event.end_ns - start;
    guard_.left();
  };
  const auto meet_blocked = [&](Status mine) {
    Status met = meet(std::move(mine), &wait_ns);
    event.barrier_wait_ns += wait_ns;
    return met;
  };

  guard_.entering("open", &path, -1);
  const std::int64_t waited_before = session.value()->blocked_ns();
  event.start_ns = monotonic_ns();
  auto opened = open(turn, path, Direction::write);
  blocked_since(event.start_ns);
  if (status = meet_blocked(opened ? Status() : opened.error()); !status) return status;
  std::unique_ptr<File> file = std::move(opened).value();

  guard_.entering("write", &path, -1);
  std::int64_t start = monotonic_ns();
  status = file->move_boxes(Direction::write, part.memory);
  if (staged || core_.durability != storage::Durability::none) {
    // The sync is collective, so a rank that has failed takes part.
    Status synced = file->sync();
    if (status.ok()) status = std::move(synced);
  }
  blocked_since(start);
  if (status = meet_blocked(std::move(status)); !status) return status;
  record.stager_wait_ns[turn.kind] += session.value()->blocked_ns() - waited_before;
  if (staged) {
    pending_.push_back({std::move(file), path, record.events.size(), session.value(), turn.kind});
    record.events.push_back(event);
    return {};
  }

  guard_.entering("close", &path, -1);
  start = monotonic_ns();
  status = file->close();
  blocked_since(start);
  if (status = meet_blocked(std::move(status)); !status) return status;
  record.events.push_back(event);
  return {};
}

// Calls about files that were handed over give the same answers on all ranks, also errors, so the
// ranks meet only afterwards.
Status Executor::work(OutputRecord& record) {
  if (work_operations_ == 0) return look(record);
  for (std::int64_t i = 0; i < looks_per_step; ++i) {
    const std::int64_t start = monotonic_ns();
    work_value_ += busy_work(work_operations_ / looks_per_step, {});
    record.work_ns += monotonic_ns() - start;
    if (Status status = look(record); !status) return status;
  }
  return {};
}

Status Executor::look(OutputRecord& record) {
  while (!pending_.empty()) {
    guard_.entering("looking whether it is stored", &pending_.front().path, -1);
    const auto stored = pending_.front().file->stored(0);
    guard_.left();
    if (!stored) return stored.error();
    if (!stored.value()) return {};
    if (Status status = finish_first(record); !status) return status;
  }
  return {};
}

Status Executor::settle(OutputRecord& record) {
  while (!pending_.empty()) {
    guard_.entering("waiting until it is stored", &pending_.front().path, -1);
    const auto stored = pending_.front().file->stored(job_.deadline_seconds);
    guard_.left();
    if (!stored) return stored.error();
    if (Status status = finish_first(record); !status) return status;
  }
  return {};
}

// A program would have closed the file when it had handed it over, so closing counts as blocked.
Status Executor::finish_first(OutputRecord& record) {
  const Pending& first = pending_.front();
  Event& event = record.events[first.event];
  const std::int64_t waited_before = first.session->blocked_ns();
  event.end_ns = monotonic_ns();
  guard_.entering("close", &first.path, -1);
  Status status = first.file->close();
  guard_.left();
  record.stager_wait_ns[first.kind] += first.session->blocked_ns() - waited_before;
  event.foreground_ns += monotonic_ns() - event.end_ns;
  pending_.erase(pending_.begin());
  return status;
}

// The memory holds other data before it is read into.
Status Executor::read_file(const Turn& turn, OutputRecord& record) {
  Part& part = part_of(turn, Direction::read);
  const std::string path = path_of(turn);
  const std::vector<std::vector<std::byte>> written = part.elements;
  for (std::size_t i = 0; i < part.boxes.size(); ++i) {
    std::memset(part.memory[i], 0xa5, static_cast<std::size_t>(part.boxes[i].bytes()));
  }
  guard_.entering("open", &path, -1);
  auto opened = open(turn, path, Direction::read);
  guard_.left();
  Status status = meet(opened ? Status() : opened.error());
  if (!status) return status;
  guard_.entering("read", &path, -1);
  status = opened.value()->move_boxes(Direction::read, part.memory);
  guard_.left();
  if (status = meet(std::move(status)); !status) return status;
  guard_.entering("close", &path, -1);
  status = opened.value()->close();
  guard_.left();
  if (status = meet(std::move(status)); !status) return status;
  status = compare(turn, written);
  // The next file has the same elements. The memory stays where it is, because addresses are kept.
  for (std::size_t i = 0; i < written.size(); ++i) {
    std::copy(written[i].begin(), written[i].end(), part.elements[i].begin());
  }
  record.bytes_verified += part.bytes;
  return meet(std::move(status));
}

Status Executor::compare(const Turn& turn, const std::vector<std::vector<std::byte>>& written) {
  const Part& part = part_of(turn, Direction::read);
  for (std::size_t i = 0; i < part.arrays.size(); ++i) {
    const FileArray& array = part.arrays[i];
    auto wrong = array.variable >= 0
                     ? payload_of(turn, array).check(array.box.runs(), part.memory[i], {})
                     : difference(array.box, written[i], part.elements[i]);
    if (!wrong) continue;
    wrong->text += fmt::format(", in array \"{}\"", array.box.name);
    faults_.push_back({*wrong, path_of(turn), turn.repetition, kinds_[turn.kind].name});
    return wrong_data_error(faults_.back(), job_.rank);
  }
  return {};
}

Status Executor::close() {
  Status status;
  for (auto& [key, session] : sessions_) {
    Status closed = session == nullptr ? Status() : session->close();
    if (status.ok()) status = std::move(closed);
  }
  sessions_.clear();
  return meet(std::move(status));
}

}  // namespace weir::bench::output
