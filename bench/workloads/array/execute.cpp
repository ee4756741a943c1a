#include "workloads/array/execute.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "common/clock.hpp"
#include "measurement/device_traffic.hpp"
#include "measurement/page_cache.hpp"
#include "measurement/process_io.hpp"
#include "system/file.hpp"

namespace weir::bench::array_io {
namespace {

constexpr std::int64_t resident_sample_pages = 256;

const char* function_name(Direction direction) {
  return direction == Direction::write ? "write" : "read";
}

// Every repetition has two generations of content: that of the data before the timed phases, and
// that of the data that a timed phase wrote.
std::uint32_t generation_before(std::int32_t repetition) {
  return 2 * static_cast<std::uint32_t>(repetition) + 1;
}
std::uint32_t generation_written(std::int32_t repetition) {
  return generation_before(repetition) + 1;
}

}  // namespace

// One opening of the file, one transfer, one closing.
struct Executor::Attempt {
  const Configuration& configuration;
  const Access& access;
  Direction direction;
  bool create;
  std::int32_t repetition;

  [[nodiscard]] bool writing() const { return direction == Direction::write; }
};

Executor::Executor(const Job& job, FailureGuard& guard, const CoreSettings& core,
                   const Geometry& geometry, const Options& options,
                   std::vector<std::string> test_directories)
    : job_(job),
      guard_(guard),
      core_(core),
      geometry_(geometry),
      options_(options),
      test_directories_(std::move(test_directories)) {}

Executor::~Executor() = default;

Status Executor::meet(Status mine, std::int64_t* wait_ns) {
  return agree_on(job_, std::move(mine), &failed_rank_, wait_ns);
}

std::int64_t Executor::contiguous_bytes() const {
  const std::int64_t elements = geometry_.asked.elements();
  const std::int64_t more = job_.rank < elements % job_.size ? 1 : 0;
  return (elements / job_.size + more) * geometry_.type.bytes();
}

// Returns the files in every directory with the configuration's name, alone or followed by a dot
// and more.
std::vector<std::string> Executor::files_of(const Configuration& configuration) const {
  const std::string name = std::filesystem::path(configuration.path).filename().string();
  std::vector<std::string> files;
  for (const std::string& directory : test_directories_) {
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
      const std::string other = entry.path().filename().string();
      if (other == name || other.starts_with(name + ".")) files.push_back(entry.path().string());
    }
  }
  return files;
}

Status Executor::remove_files(const Configuration& configuration) const {
  Status status;
  for (const std::string& file : files_of(configuration)) {
    std::error_code error;
    std::filesystem::remove_all(file, error);  // a file, or the folder of a Zarr array
    if (error && status.ok()) status = system_failure("remove", file, -1, error.value());
  }
  return status;
}

ElementPayload Executor::payload(const Configuration& configuration,
                                 std::uint32_t generation) const {
  return {{.seed = configuration.payload_seed,
           .file = 0,
           .generation = generation,
           .compressible_percent = core_.compressible_percent},
          geometry_.type,
          geometry_.array_bytes()};
}

// Allocates the memory and removes an earlier file.
Status Executor::prepare(const Configuration& configuration, std::int32_t repetition) {
  guard_.set_test_files({.directory = test_directories_.front(),
                         .paths = {configuration.path},
                         .rank_folders = {},
                         .job_folders = {test_directories_.begin() + 1, test_directories_.end()}});
  if (!memory_) {
    const std::int64_t bytes =
        std::max({geometry_.type.bytes(), contiguous_bytes(),
                  geometry_.part(geometry_.writing, job_.rank).held_bytes(),
                  geometry_.part(geometry_.reading, job_.rank).held_bytes()});
    auto ring = Ring::create(1, bytes);
    if (!ring) return ring.error();
    memory_ = std::make_unique<Ring>(std::move(ring).value());
  }
  const bool keeps = options_.existing && repetition > 0;
  if (keeps || job_.rank != 0) return {};
  return remove_files(configuration);
}

Result<Executor::Access> Executor::access(const Configuration& configuration,
                                          const array::RegularDistribution& by, bool whole) {
  const Part asked = geometry_.part(by, job_.rank);
  Access access{whole ? asked.whole() : asked, {}, whole, 0};
  if (!configuration.variant.contiguous) {
    access.runs = access.part.runs();
    access.bytes = access.part.asked_bytes();
    return access;
  }
  // Each rank has one piece; the pieces are in the order of the ranks that share a directory.
  const std::int64_t bytes = contiguous_bytes();
  access.bytes = bytes;
  const std::size_t directories = test_directories_.size();
  const std::size_t mine = static_cast<std::size_t>(job_.rank) % directories;
  std::vector<std::int64_t> of_directory(directories);
  std::vector<std::int64_t> sums(directories);
  of_directory[mine] = bytes;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Iexscan(of_directory.data(), sums.data(), static_cast<int>(directories), MPI_INT64_T, MPI_SUM,
              job_.world, &request);
  if (Status status = wait_for(request, job_.deadline_ns(), "the sizes of the pieces"); !status) {
    return status.error();
  }
  const std::int64_t before =
      job_.rank == 0 ? 0 : sums[mine];  // MPI leaves the result on rank 0 undefined
  access.runs.push_back({.from_offset = 0, .to_offset = before, .bytes = bytes, .levels = {}});
  return access;
}

Result<ArrayRecord> Executor::run(const Configuration& configuration, std::int32_t repetition) {
  ArrayRecord record;
  std::int64_t& verified = record.repetition.bytes_verified;
  if (Status status = meet(prepare(configuration, repetition)); !status) return status.error();
  // The contiguous pieces have neither sections nor a different distribution for reading.
  const bool plain = configuration.variant.contiguous;
  const bool section = geometry_.is_section() && !plain;
  const auto& reading = plain ? geometry_.writing : geometry_.reading;
  bool create = !options_.existing || repetition == 0;

  if (section || !options_.write) {
    auto before = access(configuration, geometry_.writing, section);
    if (!before) return before.error();
    payload(configuration, generation_before(repetition)).fill(before.value().runs, memory_->at(0));
    if (Status status =
            untimed(configuration, before.value(), Direction::write, create, repetition);
        !status) {
      return status.error();
    }
    create = false;
  }
  if (options_.write) {
    auto written = access(configuration, geometry_.writing, false);
    if (!written) return written.error();
    payload(configuration, generation_written(repetition))
        .fill(written.value().runs, memory_->at(0));
    Attempt attempt{configuration, written.value(), Direction::write, create, repetition};
    if (Status status = timed_phase(attempt, record); !status) return status.error();
  }
  const std::uint32_t generation =
      options_.write ? generation_written(repetition) : generation_before(repetition);
  if (options_.read) {
    auto wanted = access(configuration, reading, false);
    if (!wanted) return wanted.error();
    const std::int64_t held = std::max(wanted.value().part.held_bytes(), wanted.value().bytes);
    std::memset(memory_->at(0), 0xa5, static_cast<std::size_t>(held));
    Attempt attempt{configuration, wanted.value(), Direction::read, false, repetition};
    if (Status status = timed_phase(attempt, record); !status) return status.error();
    if (core_.verify) {
      Status status =
          compare(configuration, wanted.value(), generation, repetition, "read", &verified);
      if (!status) return status.error();
    }
  }
  if (core_.verify && (section || !options_.read)) {
    Status status = check_whole(configuration, repetition, &verified);
    if (!status) return status.error();
  }
  if (options_.existing) return record;
  Status removed = job_.rank == 0 ? remove_files(configuration) : Status();
  if (removed = meet(std::move(removed)); !removed) return removed.error();
  return record;
}

Status Executor::close() {
  Status status;
  for (auto& [api, session] : sessions_) {
    if (session == nullptr) continue;
    Status closed = session->close();
    if (status.ok()) status = std::move(closed);
  }
  sessions_.clear();
  return meet(std::move(status));
}

Status Executor::untimed(const Configuration& configuration, const Access& access,
                         Direction direction, bool create, std::int32_t repetition) {
  PhaseRecord figures;
  ArrayPhaseRecord costs;
  Attempt attempt{configuration, access, direction, create, repetition};
  return transfer(attempt, &figures, &costs);
}

Status Executor::compare(const Configuration& configuration, const Access& access,
                         std::uint32_t generation, std::int32_t repetition, const char* function,
                         std::int64_t* verified) {
  const ElementPayload expected = payload(configuration, generation);
  std::vector<PayloadStream> earlier;
  for (std::uint32_t g = generation; g-- > 0 && earlier.size() < 4;) {
    earlier.push_back({configuration.payload_seed, 0, g, core_.compressible_percent});
  }
  Status status;
  if (const auto wrong = expected.check(access.runs, memory_->at(0), earlier)) {
    faults_.push_back({*wrong, configuration.path, repetition, function});
    status = wrong_data_error(faults_.back(), job_.rank);
  }
  *verified += access.bytes;
  return meet(std::move(status));
}

// Reads the whole array. Inside the section it contains the data that was written last, outside the
// earlier data. After the first comparison the section in memory is overwritten with the earlier
// data as well.
Status Executor::check_whole(const Configuration& configuration, std::int32_t repetition,
                             std::int64_t* verified) {
  const char* function = options_.write ? "write" : "read";
  const bool plain = configuration.variant.contiguous;
  const bool section = geometry_.is_section() && !plain;
  auto all = access(configuration, geometry_.writing, section);
  if (!all) return all.error();
  const std::int64_t held = std::max(all.value().part.held_bytes(), all.value().bytes);
  std::memset(memory_->at(0), 0xa5, static_cast<std::size_t>(held));
  Status status = untimed(configuration, all.value(), Direction::read, false, repetition);
  if (!status) return status;
  const std::uint32_t before = generation_before(repetition);
  const std::uint32_t last = options_.write ? generation_written(repetition) : before;
  if (!section) return compare(configuration, all.value(), last, repetition, function, verified);
  auto asked = access(configuration, geometry_.writing, false);
  if (!asked) return asked.error();
  std::int64_t counted_with_the_rest = 0;
  status =
      compare(configuration, asked.value(), last, repetition, function, &counted_with_the_rest);
  if (!status) return status;
  payload(configuration, before).fill(asked.value().runs, memory_->at(0));
  return compare(configuration, all.value(), before, repetition, function, verified);
}

Status Executor::look_at_cache(const Attempt& attempt, PhaseRecord& figures) const {
  if (attempt.writing()) return {};
  double resident = 0;
  std::int64_t known = 0;  // bytes of the files whose page residency is known
  for (const std::string& path : files_of(attempt.configuration)) {
    const auto observer = storage::File::open(path, {});
    if (!observer) return observer.error();
    struct stat status {};
    if (fstat(observer.value().descriptor(), &status) != 0) {
      return system_failure("stat", path, -1, errno);
    }
    if (status.st_size == 0) continue;
    if (core_.drop_cache) {
      Status dropped = storage::drop_cached_pages(observer.value(), 0, status.st_size);
      if (!dropped) return dropped;
    }
    const auto fraction =
        storage::resident_fraction(observer.value(), 0, status.st_size, resident_sample_pages);
    if (!fraction) continue;
    resident += fraction.value() * static_cast<double>(status.st_size);
    known += status.st_size;
  }
  if (known > 0) figures.resident_before = resident / static_cast<double>(known);
  return {};
}

Status Executor::timed_phase(Attempt& attempt, ArrayRecord& record) {
  PhaseRecord figures;
  figures.direction = attempt.direction;
  ArrayPhaseRecord costs;
  costs.direction = attempt.direction;
  if (Status status = meet(look_at_cache(attempt, figures)); !status) return status;
  const bool asks_devices = job_.node_rank == 0;
  const auto before =
      asks_devices ? moved_by_devices(test_directories_, attempt.direction) : std::nullopt;
  if (Status status = meet({}); !status) return status;
  // Reading the counters is itself a read.
  const auto io_first = process_io();
  const auto io_before = process_io();
  if (Status status = transfer(attempt, &figures, &costs); !status) return status;
  const auto io_after = process_io();
  if (io_first && io_before && io_after) {
    const std::int64_t asking = io_before->bytes_read - io_first->bytes_read;
    costs.io_known = true;
    costs.bytes_written = io_after->bytes_written - io_before->bytes_written;
    costs.bytes_read =
        std::max<std::int64_t>(0, io_after->bytes_read - io_before->bytes_read - asking);
  }
  if (asks_devices && before) {
    const auto after = moved_by_devices(test_directories_, attempt.direction);
    figures.device_known = after.has_value();
    if (after) figures.device_bytes = *after - *before;
  }
  figures.operations = 1;
  figures.bytes = attempt.access.bytes;
  figures.io_ns = figures.end_ns - figures.start_ns;
  figures.latencies.record(figures.io_ns);
  record.repetition.events.push_back(
      {.repetition = attempt.repetition,
       .function = attempt.writing() ? function_write : function_read,
       .operation = attempt.writing() ? Operation::write : Operation::read,
       .start_ns = figures.start_ns,
       .end_ns = figures.end_ns,
       .foreground_ns = figures.io_ns,
       .bytes = figures.bytes,
       .barrier_wait_ns = figures.wait_ns});
  record.repetition.phases.push_back(figures);
  record.phases.push_back(costs);
  return {};
}

// Opens a session with the first file.
Result<std::unique_ptr<File>> Executor::open(const Attempt& attempt) {
  const Variant& variant = attempt.configuration.variant;
  std::unique_ptr<Session>& session = sessions_[variant.api];
  if (session == nullptr) {
    auto opened = open_session(*variant.api, {.communicator = job_.world,
                                              .deadline_seconds = job_.deadline_seconds,
                                              .striping = core_.striping,
                                              .durability = core_.durability,
                                              .hints_file = options_.hints_file,
                                              .opened_hints = job_.opened_hints.get(),
                                              .aggregators = options_.aggregators,
                                              .buffer_bytes = options_.buffer_bytes,
                                              .buffers = options_.buffers,
                                              .chunk = options_.chunk,
                                              .codec = options_.codec,
                                              .strategy = options_.strategy,
                                              .engine = options_.engine,
                                              .ranks_per_node = options_.ranks_per_node,
                                              .io_groups = options_.io_groups,
                                              .placement = options_.placement,
                                              .layout = options_.layout,
                                              .column_major = options_.column_major,
                                              .directories = test_directories_});
    if (!opened) return opened.error();
    session = std::move(opened).value();
  }
  const Access& access = attempt.access;
  FileRequest request{.communicator = job_.world,
                      .path = attempt.configuration.path,
                      .write = attempt.writing(),
                      .create = attempt.create,
                      .name = "array",
                      .part = &access.part,
                      .runs = &access.runs,
                      // Explaining moves nothing, so one rank suffices. The transfer of the whole
                      // array before a section is not explained.
                      .explain = options_.explain && !access.whole && job_.rank == 0};
  if (variant.contiguous) {
    // The pieces are distributed to all directories.
    const auto turn = static_cast<std::size_t>(job_.rank) % test_directories_.size();
    const std::filesystem::path name = std::filesystem::path(request.path).filename();
    request.path = (std::filesystem::path(test_directories_[turn]) / name).string();
  }
  return session->open(request);
}

Status Executor::transfer(Attempt& attempt, PhaseRecord* figures, ArrayPhaseRecord* costs) {
  const std::string& path = attempt.configuration.path;
  const char* operation = function_name(attempt.direction);
  figures->opening_ns = monotonic_ns();
  guard_.entering("open", &path, -1);
  auto opened = open(attempt);
  guard_.left();
  figures->open_ns = monotonic_ns() - figures->opening_ns;
  if (Status status = meet(opened ? Status() : opened.error()); !status) return status;
  const std::unique_ptr<File> file = std::move(opened).value();

  guard_.entering(operation, &path, -1);
  figures->start_ns = monotonic_ns();
  Status status = file->move_part(attempt.direction, memory_->at(0));
  const std::int64_t transferred = monotonic_ns();
  costs->stages = file->stages();
  if (attempt.writing() && core_.durability != storage::Durability::none) {
    // The sync is collective, so a rank that has failed takes part.
    guard_.entering("fsync", &path, -1);
    Status synced = file->sync();
    if (status.ok()) status = std::move(synced);
  }
  figures->end_ns = monotonic_ns();
  figures->sync_ns = figures->end_ns - transferred;
  guard_.left();
  if (status = meet(std::move(status), &figures->wait_ns); !status) return status;

  const std::int64_t closing = monotonic_ns();
  guard_.entering("close", &path, -1);
  status = file->close();
  guard_.left();
  figures->closed_ns = monotonic_ns();
  figures->close_ns = figures->closed_ns - closing;
  return meet(std::move(status));
}

}  // namespace weir::bench::array_io
