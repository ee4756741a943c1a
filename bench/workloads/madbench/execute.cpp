// The protocol of one function, on every rank:
//   1. Open the file; meet all ranks. Drop cached pages and read the device counters. Meet; time
//      begins.
//   2. Follow the schedule (schedule.hpp). Around each transfer of a matrix:
//        fill the payload, meet        payload time, not the function's
//        transfer, meet                the transfer, and the wait at its barrier
//        check the payload, meet       payload time
//   3. Meet all ranks; time ends. Read the device counters and close the file.
// A rank whose operation failed goes on to the next meeting and reports the failure there; no rank
// stays behind.
#include "workloads/madbench/execute.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "common/checked.hpp"
#include "common/clock.hpp"
#include "measurement/page_cache.hpp"

namespace weir::bench::madbench {
namespace {

constexpr std::int64_t direct_alignment = 4096;
constexpr std::int64_t resident_sample_pages = 64;  // of each matrix
constexpr int read_tag = 1;
constexpr int write_tag = 2;

// Returns how often --rank-shift has moved the data to another rank: the function's place in the
// order S, W, C.
std::int64_t shifts_before(Function function) {
  return function == Function::S ? 0 : function == Function::W ? 1 : 2;
}

// D inverts a matrix in memory, so it moves no matrices.
bool moves_matrices(Function function) { return function != Function::D; }

}  // namespace

std::int64_t owner_of(Function function, std::int64_t rank, std::int64_t rank_shift,
                      std::int64_t ranks) {
  return (rank + shifts_before(function) * (rank_shift % ranks)) % ranks;
}

// The state of one function while it runs.
struct Executor::FunctionRun {
  const Configuration& configuration;
  Function function;
  std::int32_t repetition;
  std::int64_t owner;  // the rank to which the share of this rank belongs in the layout
  std::string path;
  RepetitionRecord& record;
  FunctionCost cost;
  std::unique_ptr<storage::File> observer = {};  // a plain descriptor, for the page cache's calls
  std::unique_ptr<File> file = {};
  std::unique_ptr<Session> session = {};  // ends first: it may still move bytes of the file

  // Returns whether data is made durable by a collective call after the transfers. MPI-IO in the
  // foreground does so.
  [[nodiscard]] bool syncs_separately() const {
    return configuration.variant.method->can.mpi_io && configuration.variant.mode == Mode::sync;
  }
};

Executor::Executor(const Job& job, FailureGuard& guard, const CoreSettings& core, const Size& size,
                   Work& work)
    : job_(job),
      guard_(guard),
      core_(core),
      size_(size),
      work_(work),
      gang_index_(static_cast<int>(job.rank / (size.no_pe / size.no_gang))),
      read_token_(job.world, size.rmod, read_tag),
      write_token_(job.world, size.wmod, write_tag),
      read_turn_(read_token_, guard),
      write_turn_(write_token_, guard) {
  MPI_Comm_split(job.world, gang_index_, job.rank, &gang_);
}

Executor::~Executor() {
  // After a failure the other ranks may be anywhere in the code, and freeing would have to wait for
  // them.
  if (failed_rank_ == none_failed) MPI_Comm_free(&gang_);
}

MPI_Comm Executor::communicator_of(GangLevel level) const {
  return level == GangLevel::all_ranks ? job_.world : gang_;
}

std::int64_t Executor::transfer_bytes(std::int64_t share) const {
  return core_.direct ? checked_round_up(share, direct_alignment).value_or(share) : share;
}

Share Executor::share_of(const FunctionRun& run, GangLevel level, const Step& step) const {
  const Extent extent = run.configuration.layout.extent(level, run.owner, step.matrix);
  return {.configuration = run.configuration,
          .function = run.function,
          .repetition = run.repetition,
          .owner = run.owner,
          .step = step,
          .extent = extent,
          .bytes = transfer_bytes(extent.bytes)};
}

Status Executor::meet(MPI_Comm communicator, Status mine, std::int64_t* wait_ns) {
  auto agreed = agree(communicator, mine.ok() ? none_failed : job_.rank, job_.deadline_ns());
  if (!agreed) {
    failed_rank_ = job_.rank;
    return agreed.error();
  }
  if (wait_ns != nullptr) *wait_ns = agreed.value().wait_ns;
  if (agreed.value().failed_rank == none_failed) return {};
  failed_rank_ = agreed.value().failed_rank;
  if (communicator != job_.world) {
    // The other gangs learn of the failure at their next meeting of all ranks, which is this one.
    auto all = agree(job_.world, failed_rank_, job_.deadline_ns());
    if (!all) return all.error();
    failed_rank_ = all.value().failed_rank;
  }
  if (!mine) {
    if (mine.error().rank < 0) mine.error().rank = job_.rank;
    return mine;
  }
  return failed_elsewhere(failed_rank_);
}

Result<RepetitionRecord> Executor::run(const Configuration& configuration,
                                       std::int32_t repetition) {
  RepetitionRecord record;
  if (configuration.variant.mode != Mode::none) {
    if (Status status = meet(job_.world, create_files(configuration), nullptr); !status) {
      return status.error();
    }
  }
  for (const Function function : work_.functions()) {
    if (Status status = run_function(configuration, function, repetition, record); !status) {
      return status.error();
    }
  }
  return record;
}

Status Executor::create_files(const Configuration& configuration) const {
  const bool shared = configuration.variant.file_type == FileType::shared;
  if (shared && job_.rank != 0) return {};
  const std::string path = configuration.file_of(job_.rank);
  auto file = storage::File::open(path, {.write = true, .create = true, .truncate = true});
  if (!file) return file.error();
  if (Status closed = file.value().close(); !closed) return closed;
  return check_file_is_on_targets(path, core_.targets.of_rank(job_.rank));
}

Status Executor::remove_files(const Configuration& configuration) {
  if (configuration.variant.mode == Mode::none) return {};
  return meet(job_.world, remove_own_file(configuration), nullptr);
}

Status Executor::remove_own_file(const Configuration& configuration) const {
  if (configuration.variant.file_type == FileType::shared && job_.rank != 0) return {};
  const std::string path = configuration.file_of(job_.rank);
  if (unlink(path.c_str()) != 0) return system_failure("unlink", path, -1, errno);
  return {};
}

Status Executor::run_function(const Configuration& configuration, Function function,
                              std::int32_t repetition, RepetitionRecord& record) {
  const std::int64_t owner = owner_of(function, job_.rank, core_.rank_shift, job_.size);
  FunctionRun run{.configuration = configuration,
                  .function = function,
                  .repetition = repetition,
                  .owner = owner,
                  .path = configuration.file_of(owner),
                  .record = record,
                  .cost = {.function = function}};
  const bool transfers = configuration.variant.mode != Mode::none && moves_matrices(function);
  storage::DeviceCounters before;
  if (transfers) {
    Status status = open_file(run);
    if (status.ok() && core_.drop_cache && function != Function::S) {
      const Extent region = configuration.layout.region(owner);
      status = storage::drop_cached_pages(*run.observer, region.offset, region.bytes);
    }
    if (status = meet(job_.world, std::move(status), nullptr); !status) return status;
    if (function != Function::S && !core_.direct) sample_residency(run);
    if (job_.node_rank == 0) {
      const auto counters = storage::device_counters(*run.observer);
      run.cost.device_known = counters.ok();
      if (counters) before = counters.value();
    }
  }

  if (Status status = meet(job_.world, {}, nullptr); !status) return status;
  const std::int64_t start = monotonic_ns();
  Status status = run_steps(run);
  if (!status) return status;  // all ranks know it, because run_steps ends with a meeting
  if (status = meet(job_.world, {}, nullptr); !status) return status;
  run.cost.total_ns = monotonic_ns() - start - run.cost.payload_ns;

  if (transfers) {
    if (run.cost.device_known) {
      const auto after = storage::device_counters(*run.observer);
      run.cost.device_known = after.ok();
      if (after) {
        run.cost.device_bytes_read = after.value().bytes_read - before.bytes_read;
        run.cost.device_bytes_written = after.value().bytes_written - before.bytes_written;
      }
    }
    if (status = meet(job_.world, close_file(run), nullptr); !status) return status;
  }
  record.functions.push_back(run.cost);
  return {};
}

// A collective open happens even if this rank's observer fails; otherwise the others would wait.
Status Executor::open_file(FunctionRun& run) {
  const Variant& variant = run.configuration.variant;
  const bool collective = variant.method->can.collective && variant.file_type == FileType::shared;
  const bool write = run.function != Function::C;
  auto observer = storage::File::open(run.path, {.read = true, .write = write});
  if (!observer && !collective) return observer.error();
  auto session = open_session(
      *variant.method,
      {.communicator = collective ? job_.world : MPI_COMM_SELF,
       .deadline_seconds = core_.deadline_seconds,
       .durability = core_.durability,
       .direct = core_.direct,
       .queue_depth = 2,  // the next matrix is read while the last one is written
       .submission = variant.mode == Mode::async ? Submission::background : Submission::foreground,
       .opened_hints = job_.opened_hints.get()});
  if (!session) return session.error();
  run.session = std::move(session).value();
  auto opened = run.session->open({.path = run.path, .write = write});
  if (!opened) return opened.error();
  run.file = std::move(opened).value();
  if (!observer) return observer.error();
  run.observer = std::make_unique<storage::File>(std::move(observer).value());
  return {};
}

Status Executor::close_file(FunctionRun& run) {
  Status status = run.file->close();
  for (Status closed : {run.observer->close(), run.session->close()}) {
    if (!closed && status.ok()) status = std::move(closed);
  }
  return status;
}

// This is sampled before the function and not before each read, because what readahead brings in
// later comes from storage.
void Executor::sample_residency(FunctionRun& run) const {
  const GangLevel level = read_level(run.function);
  for (std::int64_t matrix = 0; matrix < run.configuration.layout.matrices(level); ++matrix) {
    const Extent extent = run.configuration.layout.extent(level, run.owner, matrix);
    const auto resident = storage::resident_fraction(*run.observer, extent.offset, extent.bytes,
                                                     resident_sample_pages);
    if (!resident) continue;  // without residency there is no evidence
    run.cost.resident_sum += resident.value();
    ++run.cost.resident_count;
  }
}

Status Executor::run_steps(FunctionRun& run) {
  if (Status status = meet(job_.world, work_.begin(run.function), nullptr); !status) return status;
  for (const Step& step : work_.schedule(run.function)) {
    if (Status status = take(run, step); !status) return status;
  }
  return {};
}

Status Executor::take(FunctionRun& run, const Step& step) {
  const Mode mode = run.configuration.variant.mode;
  switch (step.action) {
    case Action::compute:
    case Action::remap:
      return compute(run, step);
    case Action::begin_read:
      if (mode == Mode::async) start_read(run, step);
      return {};
    case Action::wait_read:
      if (mode == Mode::sync) start_read(run, step);
      return mode == Mode::none ? Status() : end_read(run, step);
    case Action::begin_write: {
      if (mode == Mode::none) return {};
      Status status = begin_write(run, step);
      return mode == Mode::sync && status.ok() ? end_write(run, step) : status;
    }
    case Action::wait_write:
      return mode == Mode::async ? end_write(run, step) : Status();
  }
  return {};
}

void Executor::progress() {
  read_turn_.progress();
  write_turn_.progress();
}

Status Executor::compute(FunctionRun& run, const Step& step) {
  const bool remap = step.action == Action::remap;
  const GangLevel level = remap ? GangLevel::all_ranks : compute_level(run.function);
  Event event{.repetition = run.repetition,
              .function = static_cast<std::int8_t>(run.function),
              .operation = remap ? Operation::remap : Operation::compute,
              .bin = static_cast<std::int32_t>(step.matrix),
              .gang = gang_index_};
  const bool background = run.configuration.variant.mode == Mode::async;
  event.start_ns = monotonic_ns();
  Status status = work_.compute(
      run.function, step, background ? std::function<void()>([this] { progress(); }) : nullptr);
  event.end_ns = monotonic_ns();
  event.foreground_ns = event.end_ns - event.start_ns;
  if (work_.is_busy_work()) run.cost.busy_work_ns += event.foreground_ns;
  status = meet(communicator_of(level), std::move(status), &event.barrier_wait_ns);
  run.record.events.push_back(event);
  return status;
}

Status Executor::begin_write(FunctionRun& run, const Step& step) {
  const GangLevel level = write_level(run.function);
  const Share share = share_of(run, level, step);
  const std::int64_t before = monotonic_ns();
  work_.prepare_write(share);
  Status status = meet(communicator_of(level), {}, nullptr);
  run.cost.payload_ns += monotonic_ns() - before;
  if (!status) return status;

  write_turn_.begin(
      *run.session->engine(), *run.file,
      {.direction = Direction::write,
       .buffer = work_.writing(step),
       .bytes = share.bytes,
       .offset = share.extent.offset,
       .durability = run.syncs_separately() ? storage::Durability::none : core_.durability},
      run.path, run.configuration.variant.mode == Mode::async, job_.deadline_ns());
  return {};
}

Status Executor::end_write(FunctionRun& run, const Step& step) {
  const GangLevel level = write_level(run.function);
  Status status = write_turn_.finish(job_.deadline_ns());
  std::int64_t wait_ns = 0;
  if (status = meet(communicator_of(level), std::move(status), &wait_ns); !status) return status;
  record_transfer(run, Operation::write, step,
                  run.configuration.layout.extent(level, run.owner, step.matrix),
                  write_turn_.timing(), wait_ns);
  if (run.syncs_separately() && core_.durability != storage::Durability::none) {
    return sync_separately(run, step);
  }
  return {};
}

Status Executor::sync_separately(FunctionRun& run, const Step& step) {
  Event event{.repetition = run.repetition,
              .function = static_cast<std::int8_t>(run.function),
              .operation = Operation::sync,
              .bin = static_cast<std::int32_t>(step.matrix),
              .gang = gang_index_};
  event.start_ns = monotonic_ns();
  guard_.entering("MPI_File_sync", &run.path, -1);
  Status status = run.file->sync();
  guard_.left();
  event.end_ns = monotonic_ns();
  event.foreground_ns = event.end_ns - event.start_ns;
  run.cost.write_ns += event.foreground_ns;
  status = meet(job_.world, std::move(status), &event.barrier_wait_ns);
  run.record.events.push_back(event);
  return status;
}

void Executor::start_read(FunctionRun& run, const Step& step) {
  const Share share = share_of(run, read_level(run.function), step);
  read_turn_.begin(*run.session->engine(), *run.file,
                   {.direction = Direction::read,
                    .buffer = work_.reading(step),
                    .bytes = share.bytes,
                    .offset = share.extent.offset},
                   run.path, run.configuration.variant.mode == Mode::async, job_.deadline_ns());
}

Status Executor::end_read(FunctionRun& run, const Step& step) {
  const GangLevel level = read_level(run.function);
  Status status = read_turn_.finish(job_.deadline_ns());
  std::int64_t wait_ns = 0;
  if (status = meet(communicator_of(level), std::move(status), &wait_ns); !status) return status;
  record_transfer(run, Operation::read, step,
                  run.configuration.layout.extent(level, run.owner, step.matrix),
                  read_turn_.timing(), wait_ns);
  if (!core_.verify) return {};
  const std::int64_t before = monotonic_ns();
  status = meet(communicator_of(level), check(run, step), nullptr);
  run.cost.payload_ns += monotonic_ns() - before;
  return status;
}

Status Executor::check(FunctionRun& run, const Step& step) {
  const Share share = share_of(run, read_level(run.function), step);
  const std::vector<PayloadMismatch> mismatches = work_.check_read(share);
  run.record.bytes_verified += share.extent.bytes;
  if (mismatches.empty()) return {};
  const std::size_t first = faults_.size();
  for (const PayloadMismatch& mismatch : mismatches) {
    faults_.push_back({mismatch, run.path, run.repetition, name_of(run.function)});
  }
  return wrong_data_error(faults_[first], job_.rank);
}

void Executor::record_transfer(FunctionRun& run, Operation operation, const Step& step,
                               const Extent& extent, const TurnTiming& timing,
                               std::int64_t wait_ns) {
  Event event{.repetition = run.repetition,
              .function = static_cast<std::int8_t>(run.function),
              .operation = operation,
              .bin = static_cast<std::int32_t>(step.matrix),
              .gang = gang_index_,
              .start_ns = timing.start_ns,
              .end_ns = timing.end_ns,
              .foreground_ns = timing.foreground_ns,
              .bytes = extent.bytes,
              .offset_bytes = extent.offset,
              .barrier_wait_ns = wait_ns,
              .token_wait_ns = timing.token_wait_ns};
  (operation == Operation::read ? run.cost.read_ns : run.cost.write_ns) += timing.foreground_ns;
  if (operation == Operation::read || timing.moved_ns >= timing.end_ns) {
    run.record.events.push_back(event);
    return;
  }
  // A durable write is two events: moving the bytes, and making them durable. The time for which
  // the rank was blocked is divided among them by their overlap with the end of the foreground
  // time; in SYNC mode that is each event's own duration.
  Event sync = event;
  event.end_ns = sync.start_ns = timing.moved_ns;
  event.barrier_wait_ns = 0;
  sync.operation = Operation::sync;
  sync.bytes = 0;
  sync.token_wait_ns = 0;
  sync.foreground_ns = std::min(timing.foreground_ns, sync.end_ns - sync.start_ns);
  event.foreground_ns = timing.foreground_ns - sync.foreground_ns;
  run.record.events.push_back(event);
  run.record.events.push_back(sync);
}

}  // namespace weir::bench::madbench
