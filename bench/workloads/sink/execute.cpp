#include "workloads/sink/execute.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>

#include "common/clock.hpp"
#include "measurement/aggregate.hpp"
#include "measurement/copies.hpp"
#include "plan/engine.hpp"
#include "system/own_folder.hpp"

namespace weir::bench::sink {
namespace {

constexpr const char* dropping_path = "/dev/null";
// Copies are repeated until these bytes have been copied, so that a copy's time is known well.
constexpr std::int64_t copied_bytes = std::int64_t{256} << 20;
constexpr std::int64_t most_copies = 200'000;
constexpr std::int64_t messages_per_deadline = 64;

}  // namespace

Executor::Executor(const Job& job, FailureGuard& guard, const CoreSettings& core,
                   const Options& options)
    : job_(job), guard_(guard), core_(core), options_(options) {}

Executor::~Executor() = default;

Status Executor::meet(Status mine, std::int64_t* wait_ns) {
  return agree_on(job_, std::move(mine), &failed_rank_, wait_ns);
}

std::int64_t Executor::memory_bytes(std::int64_t message_bytes) {
  return Ring::memory_bytes(2, message_bytes);
}

Status Executor::begin(const std::vector<Variant>& variants) {
  guard_.entering("preparing the messages", nullptr, -1);
  std::int64_t most = 1;
  for (const Variant& one : variants) most = std::max(most, one.message_bytes);
  auto memory = Ring::create(2, most);
  Status status = memory ? Status() : memory.error();
  if (memory) memory_ = std::move(memory).value();
  guard_.left();
  return meet(std::move(status));
}

// A stager that nobody uses ends after a minute, so it is started right before its first session.
Status Executor::need_stagers(const Configuration& configuration, End end) {
  const StagersKey key{configuration.variant.stagers_slug(), end};
  if (stagers_.contains(key)) return {};
  return start(stagers_[key], configuration, end);
}

Status Executor::start(OwnStagers& stagers, const Configuration& configuration, End end) {
  const bool drops = end == End::drops;
  const Variant& variant = configuration.variant;
  OwnStagers::Service service;
  if (variant.staging == Staging::service) {
    const std::filesystem::path beside = std::filesystem::path(configuration.path).parent_path();
    service = {.name = variant.stagers_slug(),
               .stagers = variant.stagers,
               .receivers = variant.receivers,
               .folder = beside / fmt::format("weir-stagers-{}-{}", variant.stagers_slug(),
                                              drops ? "drop" : "store")};
    Status made;
    if (job_.rank == 0) {
      made = storage::make_own_folder(service.folder,
                                      "the folder in which stagers say where they are");
      stagers_folders_.push_back(service.folder);
    }
    if (made = meet(std::move(made)); !made) return made;
  }
  guard_.entering("starting a stager", nullptr, -1);
  Status started = variant.staging == Staging::service ? stagers.start_service(job_, drops, service)
                                                       : stagers.start_on_nodes(job_, drops);
  guard_.left();
  return meet(std::move(started));
}

Status Executor::remove_file(const Configuration& configuration) {
  Status status;
  if (job_.rank == 0) {
    // Weir's files of an array begin with its name.
    const std::filesystem::path path = configuration.path;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(path.parent_path(), error)) {
      const std::string name = entry.path().filename().string();
      const std::string own = path.filename().string();
      if (name != own && !name.starts_with(own + ".")) continue;
      std::filesystem::remove(entry.path(), error);
      if (error && status.ok()) status = system_failure("remove", name, -1, error.value());
    }
  }
  return meet(std::move(status));
}

// Every repetition of every configuration has messages of its own.
ElementPayload Executor::payload(const Turn& turn) const {
  return {{.seed = turn.configuration.payload_seed,
           .file = 0,
           .generation = static_cast<std::uint32_t>(turn.repetition) + 1,
           .compressible_percent = core_.compressible_percent},
          turn.part.type(),
          turn.part.array_bytes()};
}

Result<SinkRecord> Executor::run(const Configuration& configuration, std::int32_t repetition) {
  SinkRecord record;
  const auto part = message_of(configuration.variant.message_bytes, job_.size, job_.rank);
  if (Status status = meet(part ? Status() : part.error()); !status) return status.error();
  const std::vector<array::StridedCopy> runs = part.value().runs();
  const Turn turn{configuration, repetition, part.value(), runs};
  payload(turn).fill(runs, memory_.at(0));
  if (configuration.variant.is_staged()) {
    Status started = need_stagers(configuration, End::drops);
    if (started.ok() && core_.verify) started = need_stagers(configuration, End::keeps);
    if (!started) return started.error();
  }
  if (Status status = send(turn, record); !status) return status.error();
  record.receivers = std::min<std::int64_t>(record.receivers, job_.size);
  if (record.receivers > 0) {
    const bool mine = receives(record.receivers);
    auto seconds = copy_seconds(turn, mine);
    if (!seconds) return seconds.error();
    if (mine) record.receiving_seconds = seconds.value();
  }
  if (core_.verify) {
    if (Status status = check(turn, record); !status) return status.error();
  }
  if (Status status = remove_file(configuration); !status) return status.error();
  return record;
}

// The receivers are spread over the nodes; on a node they are the first ranks.
bool Executor::receives(std::int64_t receivers) const {
  const std::int64_t more = job_.node_index < receivers % job_.nodes ? 1 : 0;
  return job_.node_rank < receivers / job_.nodes + more;
}

Result<double> Executor::copy_seconds(const Turn& turn, bool takes_part) {
  const std::int64_t copies = std::clamp<std::int64_t>(copied_bytes / turn.bytes(), 4, most_copies);
  // The first copy touches the memory.
  std::memcpy(memory_.at(1), memory_.at(0), static_cast<std::size_t>(turn.bytes()));
  if (Status status = meet({}); !status) return status.error();
  double seconds = 0;
  if (takes_part) {
    seconds = seconds_of_a_copy(memory_.at(1), memory_.at(0), turn.bytes(), copies);
  }
  if (Status status = meet({}); !status) return status.error();
  return seconds;
}

Result<Session*> Executor::session_of(const Variant& variant, End end) {
  std::unique_ptr<Session>& session = sessions_[{variant.route(), end}];
  if (session != nullptr) return session.get();
  const bool drops = end == End::drops && !variant.is_staged();
  const SessionSettings settings{
      .communicator = job_.world,
      .deadline_seconds = job_.deadline_seconds,
      .striping = core_.striping,
      .hints_file = options_.hints_file,
      .opened_hints = job_.opened_hints.get(),
      .aggregators = variant.aggregators,
      .strategy = options_.strategy,
      .engine = std::string(drops ? plan::name_of(plan::Engine::null) : "automatic"),
      .ranks_per_node = options_.ranks_per_node,
      .io_groups = options_.io_groups,
      .placement = options_.placement,
      .staging = "none"};
  auto opened = variant.is_staged()
                    ? stagers_.at({variant.stagers_slug(), end}).open(*variant.api, settings)
                    : open_session(*variant.api, settings);
  if (!opened) return opened.error();
  session = std::move(opened).value();
  return session.get();
}

Result<std::unique_ptr<File>> Executor::open(const Turn& turn, End end, Direction direction) {
  auto session = session_of(turn.configuration.variant, end);
  if (!session) return session.error();
  const bool writing = direction == Direction::write;
  const bool device = end == End::drops && !turn.configuration.variant.api->can.plans;
  return session.value()->open({.communicator = job_.world,
                                .path = device ? dropping_path : turn.configuration.path,
                                .write = writing,
                                .create = writing && !device,
                                .name = "messages",
                                .part = &turn.part,
                                .runs = &turn.runs});
}

Status Executor::send(const Turn& turn, SinkRecord& record) {
  const std::string& path = turn.configuration.path;
  PhaseRecord figures;
  figures.direction = Direction::write;
  guard_.entering("copying the message", nullptr, -1);
  auto copied = copy_seconds(turn, true);
  guard_.left();
  if (!copied) return copied.error();
  record.source_seconds = copied.value();

  // A session is opened with its first file.
  guard_.entering("open", &path, -1);
  figures.opening_ns = monotonic_ns();
  auto opened = open(turn, options_.into_file ? End::keeps : End::drops, Direction::write);
  figures.open_ns = monotonic_ns() - figures.opening_ns;
  guard_.left();
  Status status = meet(opened ? Status() : opened.error());
  if (!status) return status;
  File& file = *opened.value();

  record.repetition.phases.push_back(figures);
  std::int64_t stored = 0;
  // open() has opened the session.
  const auto session =
      session_of(turn.configuration.variant, options_.into_file ? End::keeps : End::drops);
  if (!session) return session.error();
  status = send_all(turn, file, *session.value(), record, &stored);
  PhaseRecord& sent = record.repetition.phases.back();
  if (status = meet(std::move(status), &sent.wait_ns); !status) return status;
  const auto stages = file.stages();
  if (turn.configuration.variant.is_staged()) {
    // With a stager of the node, which has none, the ranks copy into its memory themselves.
    record.receivers = turn.configuration.variant.stagers * turn.configuration.variant.receivers;
  } else if (stages) {
    record.receivers = stages->aggregators;
  } else if (turn.configuration.variant.api->can.mpi_io) {
    record.receivers = turn.configuration.variant.aggregators;
  }
  status = account(turn, stored, stages && !turn.configuration.variant.is_staged() ? 1 : 0, record);
  if (!status) return status;

  guard_.entering("close", &path, -1);
  const std::int64_t closing = monotonic_ns();
  status = file.close();
  sent.closed_ns = monotonic_ns();
  sent.close_ns = sent.closed_ns - closing;
  guard_.left();
  return meet(std::move(status));
}

Status Executor::send_all(const Turn& turn, File& file, const Session& session, SinkRecord& record,
                          std::int64_t* stored) {
  PhaseRecord& figures = record.repetition.phases.back();
  const std::string& path = turn.configuration.path;
  const std::int64_t messages = options_.messages(turn.configuration.variant);
  // MPI-IO tells only the rank whose call has failed, and the others wait for it in their next
  // call.
  const bool goes_on = turn.configuration.variant.api->can.mpi_io;
  Status status;
  const std::int64_t waited_before = session.blocked_ns();
  figures.start_ns = monotonic_ns();
  std::int64_t before = figures.start_ns;
  for (std::int64_t i = 0; i < messages && (status.ok() || goes_on); ++i) {
    if (i % messages_per_deadline == 0) guard_.entering("write", &path, -1);
    Status sent = file.move_part(Direction::write, memory_.at(0));
    if (!sent && status.ok()) status = std::move(sent);
    const std::int64_t now = monotonic_ns();
    figures.latencies.record(now - before);
    before = now;
    if (const auto stages = file.stages()) *stored += stages->bytes_stored;
  }
  if (turn.configuration.variant.is_staged()) {
    // The stager has dropped everything when this returns. It is collective, so a rank that has
    // failed takes part.
    guard_.entering("waiting for the stager", &path, -1);
    Status drained = file.sync();
    if (status.ok()) status = std::move(drained);
  }
  figures.end_ns = monotonic_ns();
  record.stager_wait_ns = session.blocked_ns() - waited_before;
  guard_.left();
  figures.sync_ns = figures.end_ns - before;
  figures.io_ns = figures.end_ns - figures.start_ns;
  figures.operations = messages;
  figures.bytes = messages * turn.bytes();
  record.repetition.events.push_back({.repetition = turn.repetition,
                                      .function = function_write,
                                      .operation = Operation::write,
                                      .start_ns = figures.start_ns,
                                      .end_ns = figures.end_ns,
                                      .foreground_ns = figures.io_ns,
                                      .bytes = figures.bytes});
  return status;
}

// A route that counts must have taken what was sent. `counted` is 1 if this rank's part of the
// route counts.
Status Executor::account(const Turn& turn, std::int64_t stored, std::int64_t counted,
                         SinkRecord& record) {
  std::array<std::int64_t, 3> sums{stored, record.repetition.phases.back().bytes, counted};
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Iallreduce(MPI_IN_PLACE, sums.data(), static_cast<int>(sums.size()), MPI_INT64_T, MPI_SUM,
                 job_.world, &request);
  Status status = wait_for(request, job_.deadline_ns(), "the bytes that were taken");
  record.accounted = sums[2] == job_.size;
  if (status.ok() && record.accounted && sums[0] != sums[1]) {
    Error error(ErrorCode::corrupt,
                fmt::format("the ranks sent {} bytes, but {} bytes arrived at the end of the route",
                            sums[1], sums[0]),
                turn.configuration.path);
    error.operation = "counting what arrived";
    status = error;
  }
  return meet(std::move(status));
}

Status Executor::move_once(const Turn& turn, Direction direction) {
  const std::string& path = turn.configuration.path;
  const char* const operation = direction == Direction::write ? "write" : "read";
  guard_.entering("open", &path, -1);
  auto opened = open(turn, End::keeps, direction);
  guard_.left();
  Status status = meet(opened ? Status() : opened.error());
  if (!status) return status;
  guard_.entering(operation, &path, -1);
  status = opened.value()->move_part(direction, memory_.at(0));
  guard_.left();
  if (status = meet(std::move(status)); !status) return status;
  guard_.entering("close", &path, -1);
  status = opened.value()->close();
  guard_.left();
  return meet(std::move(status));
}

// The memory holds other data before it is read into.
Status Executor::check(const Turn& turn, SinkRecord& record) {
  if (!options_.into_file) {
    // The file's description of dropped messages gives way to a new file.
    Status status = remove_file(turn.configuration);
    if (status.ok()) status = move_once(turn, Direction::write);
    if (!status) return status;
  }
  std::memset(memory_.at(0), 0xa5, static_cast<std::size_t>(turn.bytes()));
  if (Status status = move_once(turn, Direction::read); !status) return status;
  Status status;
  if (const auto wrong = payload(turn).check(turn.runs, memory_.at(0), {})) {
    faults_.push_back({*wrong, turn.configuration.path, turn.repetition, "write"});
    status = wrong_data_error(faults_.back(), job_.rank);
  }
  record.repetition.bytes_verified += turn.bytes();
  return meet(std::move(status));
}

Status Executor::close() {
  Status status;
  for (auto& [key, session] : sessions_) {
    Status closed = session == nullptr ? Status() : session->close();
    if (status.ok()) status = std::move(closed);
  }
  sessions_.clear();
  if (status = meet(std::move(status)); !status) return status;
  for (auto& [key, stagers] : stagers_) {
    Status ended = stagers.wait_for_end();
    if (status.ok()) status = std::move(ended);
  }
  stagers_.clear();
  if (status = meet(std::move(status)); !status) return status;
  for (const std::string& folder : stagers_folders_) {
    std::error_code error;
    if (!std::filesystem::remove(folder, error) && error && status.ok()) {
      status = system_failure("rmdir", folder, -1, error.value());
    }
  }
  return meet(std::move(status));
}

}  // namespace weir::bench::sink
