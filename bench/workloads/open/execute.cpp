// The protocol of one step, on every rank that takes part:
//   1. Meet, and begin at a common time on the clock, because ranks leave a barrier one after the
//      other.
//   2. Do the step, with one reading of the clock before and one after it.
//   3. Meet, asleep, so that ranks that have finished leave the processor to the others. A rank
//      whose step failed reports it here.
//   4. Check, untimed: after reading, that the rank found its own piece of this repetition; after
//      closing, that the file exists and is long enough; after removing, that nothing is left.
#include "workloads/open/execute.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <utility>

#include "common/clock.hpp"
#include "measurement/payload_words.hpp"

namespace weir::bench::opening {
namespace {

constexpr const char* file_name = "opened";
constexpr std::int64_t repetitions_of_a_count = 2;  // one to prepare, and the counted one

constexpr std::array<const char*, step_count> long_names = {
    "creating", "writing to", "closing", "opening", "reading from", "closing", "removing"};

Error wrong(const char* operation, const std::string& file, std::string what) {
  Error error;
  error.code = ErrorCode::corrupt;
  error.operation = operation;
  error.file = file;
  error.message = std::move(what);
  return error;
}

// Returns one rank's row of an array of 64-bit words with a row for each rank.
Result<Part> row_of(const Participants& who, std::int64_t bytes) {
  const auto type = array::ElementType::parse("uint64");
  if (!type) return type.error();
  const auto shape = array::Shape::create({who.ranks, bytes / 8});
  if (!shape) return shape.error();
  const std::array formats{array::DistributionFormat::block_of(),
                           array::DistributionFormat::whole_dimension()};
  const auto rows =
      array::RegularDistribution::create(shape.value(), formats, {.extents = {who.ranks, 1}});
  if (!rows) return rows.error();
  return Part(type.value(), rows.value(), "BLOCK,*", array::Section::of(shape.value().box()),
              who.rank);
}

FileLayout file_layout(Layout layout) {
  return layout == Layout::per_rank   ? FileLayout::per_rank
         : layout == Layout::subfiled ? FileLayout::per_aggregator
                                      : FileLayout::shared;
}

}  // namespace

struct Executor::Kept {
  Kept(const Variant& what, MPI_Comm all, std::int64_t sharers)
      : variant(what), who(all, sharers) {}

  // Opens the session. Collective over the participants.
  Status begin(SessionSettings settings, std::int64_t bytes) {
    piece_bytes = bytes;
    const Capabilities& can = variant.api->can;
    if (!can.ranges) {
      auto row = row_of(who, bytes);
      if (!row) return row.error();
      part.emplace(std::move(row).value());
    }
    settings.layout = file_layout(variant.layout);
    if (part && variant.layout != Layout::shared) settings.chunk = part->local_extents();
    auto opened = open_session(*variant.api, settings);
    if (!opened) return opened.error();
    session = std::move(opened).value();
    return part ? session->prepare(*part) : Status();
  }
  Status open(const std::string& path, bool create) {
    auto opened = session->open(request(path, create));
    if (!opened) return opened.error();
    file = std::move(opened).value();
    return {};
  }
  // Returns the request for the file at `path`. Each rank has a piece of it; the pieces have equal
  // length and the order of the ranks.
  [[nodiscard]] FileRequest request(const std::string& path, bool create) const {
    return {.communicator = who.file,
            .path = path,
            .write = create,
            .create = create,
            .name = "pieces",
            .bytes = who.places * piece_bytes,
            .part = part ? &*part : nullptr};
  }
  Status move(Direction direction, std::vector<std::uint64_t>& memory) const {
    auto* bytes = reinterpret_cast<std::byte*>(memory.data());
    if (part) return file->move_part(direction, bytes);
    return file->move({.direction = direction,
                       .buffer = bytes,
                       .bytes = piece_bytes,
                       .offset = who.place * piece_bytes});
  }

  Variant variant;
  Participants who;
  std::int64_t piece_bytes = 0;
  std::optional<Part> part;  // the piece, for interfaces that move no ranges: a row of an array
  std::unique_ptr<Session> session;
  std::unique_ptr<File> file;
};

struct Executor::Counter {
  CallCounts before;
  std::array<CallCounts, step_count> steps;
};

Executor::Executor(const Job& job, FailureGuard& guard, const CoreSettings& core,
                   const Options& options, const OwnCalls& calls, std::string root,
                   std::uint64_t seed)
    : job_(job),
      guard_(guard),
      core_(core),
      options_(options),
      calls_(calls),
      root_(std::move(root)),
      seed_(seed),
      piece_(static_cast<std::size_t>(options.bytes / 8)),
      found_(piece_.size()) {}

Executor::~Executor() = default;

Status Executor::meet(MPI_Comm all, Status mine) {
  const auto agreed = agree(all, failed_of(mine), job_.deadline_ns(), Waiting::asleep);
  return status_of(agreed, job_.rank, std::move(mine), &failed_rank_, nullptr);
}

Status Executor::compare_clocks() {
  const auto offset = estimate_clock_offset(job_.world, job_.deadline_ns());
  Status status = offset ? Status() : Status(offset.error());
  if (!status && status.error().code == ErrorCode::deadline) {
    failed_rank_ = job_.rank;
    return status;
  }
  if (status = meet(job_.world, std::move(status)); !status) return status;
  common_start_.set_offset(offset.value());
  return start_together(job_.world);
}

Status Executor::start_together(MPI_Comm all) {
  Status started = common_start_.wait(all, job_.deadline_ns());
  if (!started) failed_rank_ = job_.rank;
  return started;
}

int Executor::failed_of(const Status& mine) const {
  if (mine.ok()) return none_failed;
  return mine.error().code == ErrorCode::peer ? failed_rank_ : job_.rank;
}

Result<std::unique_ptr<Executor::Kept>> Executor::keep(const Variant& variant, MPI_Comm all,
                                                       std::int64_t ranks_per_node) {
  int ranks = 1;
  MPI_Comm_size(all, &ranks);
  auto kept = std::make_unique<Kept>(variant, all, sharers_of(variant, options_, ranks));
  guard_.entering("preparing the interface", nullptr, -1);
  Status status = kept->begin({.communicator = all,
                               .deadline_seconds = core_.deadline_seconds,
                               .striping = core_.striping,
                               .opened_hints = job_.opened_hints.get(),
                               .collective_metadata = true,
                               .ranks_per_node = ranks_per_node,
                               .io_groups = options_.io_groups},
                              options_.bytes);
  guard_.left();
  if (status = meet(all, std::move(status)); !status) return status.error();
  return kept;
}

Result<RepetitionTimes> Executor::run(const Variant& variant) {
  if (Status compared = compare_clocks(); !compared) return compared.error();
  const auto same = [&](const auto& one) { return one->variant.slug == variant.slug; };
  auto found = std::find_if(kept_.begin(), kept_.end(), same);
  if (found == kept_.end()) {
    auto kept = keep(variant, job_.world, options_.ranks_per_node);
    if (!kept) return kept.error();
    found = kept_.insert(kept_.end(), std::move(kept).value());
  }
  RepetitionTimes times;
  if (Status status = repeat(**found, &times, nullptr); !status) return status.error();
  return times;
}

Status Executor::repeat(Kept& kept, RepetitionTimes* times, Counter* counter) {
  const Participants& who = kept.who;
  path_ = fmt::format("{}/{}-{}", root_, file_name, ++repetition_);
  path_ = who.path(path_);
  const std::uint64_t key = mix(seed_ ^ mix(static_cast<std::uint64_t>(repetition_)));
  for (std::size_t i = 0; i < piece_.size(); ++i) {
    piece_[i] = mix(key ^ mix(static_cast<std::uint64_t>(who.rank) * piece_.size() + i));
  }
  std::fill(found_.begin(), found_.end(), 0);
  for (const Step step : all_steps) {
    const auto which = static_cast<std::size_t>(step);
    if (Status status = meet(who.all, {}); !status) return status;
    if (Status status = start_together(who.all); !status) return status;
    if (counter != nullptr) counter->before = calls_.read(root_);
    guard_.entering(long_names[which], &path_, -1);
    Status status = carry_out(kept, step, &times->steps[which]);
    guard_.left();
    if (counter != nullptr) counter->steps[which] = calls_.read(root_).since(counter->before);
    common_start_.leave_processor();
    status = meet(who.all, std::move(status));
    if (!status) return status;
    if (!core_.verify) continue;
    guard_.entering("checking", &path_, -1);
    status = verify(kept, step, times);
    guard_.left();
    if (status = meet(who.all, std::move(status)); !status) return status;
  }
  return {};
}

Status Executor::carry_out(Kept& kept, Step step, StepTimes* times) {
  times->start_ns = monotonic_ns();
  Status status;
  switch (step) {
    case Step::create:
      status = kept.open(path_, true);
      break;
    case Step::write:
      status = kept.move(Direction::write, piece_);
      break;
    case Step::open:
      status = kept.open(path_, false);
      break;
    case Step::read:
      status = kept.move(Direction::read, found_);
      break;
    case Step::close_written:
    case Step::close_read:
      status = kept.file->close();
      break;
    case Step::remove:
      status = kept.session->remove(kept.request(path_, false));
      break;
  }
  times->end_ns = monotonic_ns();
  return status;
}

Status Executor::verify(Kept& kept, Step step, RepetitionTimes* times) {
  switch (step) {
    case Step::read: {
      const auto differs = std::mismatch(piece_.begin(), piece_.end(), found_.begin()).first;
      if (differs != piece_.end()) {
        return wrong("read", path_,
                     fmt::format("the opened file does not have the data of this repetition, from "
                                 "word {} of this rank's piece on (file {})",
                                 differs - piece_.begin(), path_));
      }
      times->bytes_verified += options_.bytes;
      return {};
    }
    case Step::close_written:
      for (const FileName& name : kept.session->names(kept.request(path_, false))) {
        // The file is opened and not only looked up, because opening makes clients of network file
        // systems see what others wrote before they closed it.
        const int opened = open(name.path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        if (opened < 0) {
          if (errno == ENOENT && !name.must_be) continue;
          return system_failure("open", name.path, -1, errno);
        }
        struct stat found {};
        const int looked = fstat(opened, &found);
        const int error = errno;
        close(opened);
        if (looked != 0) return system_failure("stat", name.path, -1, error);
        if (!S_ISREG(found.st_mode) || found.st_size < name.bytes) {
          return wrong(
              "close", name.path,
              fmt::format("the file has {} bytes, but one of at least {} was closed (file {})",
                          found.st_size, name.bytes, name.path));
        }
        ++times->files_verified;
      }
      return {};
    case Step::remove: {
      if (kept.who.rank != 0) return {};
      std::error_code error;
      const std::filesystem::directory_iterator first(root_, error);
      if (error) return system_failure("opendir", root_, -1, error.value());
      if (first == std::filesystem::directory_iterator()) return {};
      return wrong(
          "unlink", first->path().string(),
          fmt::format("a file is left that no rank removed (file {})", first->path().string()));
    }
    case Step::create:
    case Step::write:
    case Step::open:
    case Step::close_read:
      break;
  }
  return {};
}

Result<CountedSteps> Executor::count(const Variant& variant) {
  if (Status compared = compare_clocks(); !compared) return compared.error();
  CountedSteps counted;
  for (const std::int64_t ranks : counted_ranks(job_.size)) {
    const auto steps = count_on(variant, ranks, options_.ranks_per_node);
    if (!steps) return steps.error();
    for (std::size_t i = 0; i < step_count; ++i) counted.by_ranks[i].push_back(steps.value()[i]);
  }
  const bool knows_nodes = variant.api->can.plans && options_.ranks_per_node == 0;
  const std::int64_t half = job_.size / 2;
  if (!knows_nodes || job_.nodes > 1 || half == 0) return counted;
  const auto one = count_on(variant, half, half);
  if (!one) return one.error();
  const auto two = count_on(variant, 2 * half, half);
  if (!two) return two.error();
  for (std::size_t i = 0; i < step_count; ++i) {
    counted.by_nodes.push_back({.one = one.value()[i], .two = two.value()[i]});
  }
  return counted;
}

Result<std::array<CountedStep, step_count>> Executor::count_on(const Variant& variant,
                                                               std::int64_t ranks,
                                                               std::int64_t ranks_per_node) {
  // The number is the same on ranks that take no part.
  const std::int64_t next = repetition_ + repetitions_of_a_count;
  MPI_Comm some = MPI_COMM_NULL;
  MPI_Comm_split(job_.world, job_.rank < ranks ? 0 : MPI_UNDEFINED, job_.rank, &some);
  std::array<CountedStep, step_count> counted{};
  Status status;
  if (some != MPI_COMM_NULL) {
    auto steps = count_some(variant, some, ranks_per_node);
    status = steps ? Status() : Status(steps.error());
    if (steps) counted = steps.value();
  }
  // A rank that met no other rank at a step meets none here.
  if (!status && status.error().code == ErrorCode::deadline) return status.error();
  // Ranks that take no part wait here for all steps of the others, each of which may take as long
  // as the deadline allows.
  const std::int64_t patience = monotonic_ns() + 2 * static_cast<std::int64_t>(step_count + 1) *
                                                     (job_.deadline_ns() - monotonic_ns());
  const auto agreed = agree(job_.world, failed_of(status), patience);
  status = status_of(agreed, job_.rank, std::move(status), &failed_rank_, nullptr);
  if (!status) return status.error();
  if (some != MPI_COMM_NULL) MPI_Comm_free(&some);
  repetition_ = next;
  return counted;
}

Result<std::array<CountedStep, step_count>> Executor::count_some(const Variant& variant,
                                                                 MPI_Comm all,
                                                                 std::int64_t ranks_per_node) {
  auto kept = keep(variant, all, ranks_per_node);
  if (!kept) return kept.error();
  RepetitionTimes unused;
  // What a library does only once, such as reading its settings, is not part of opening.
  if (Status status = repeat(*kept.value(), &unused, nullptr); !status) return status.error();
  Counter counter;
  calls_.count(true);
  Status status = repeat(*kept.value(), &unused, &counter);
  calls_.count(false);
  if (status.ok()) status = meet(all, kept.value()->session->close());
  if (!status) return status.error();
  std::array<CountedStep, step_count> counted{};
  for (std::size_t i = 0; i < step_count; ++i) {
    const CallCounts& mine = counter.steps[i];
    std::int64_t operations = 0;
    std::int64_t elsewhere = 0;
    std::int64_t transfers = 0;
    for (std::size_t k = 0; k < calls::operations; ++k) {
      if (calls::moves_bytes(static_cast<calls::Operation>(k))) {
        transfers += mine.inside[k];
      } else {
        operations += mine.inside[k];
        elsewhere += mine.elsewhere[k];
      }
    }
    CountedStep& step = counted[i];
    step.ranks = kept.value()->who.ranks;
    step.first_rank = operations;
    const std::array<std::int64_t, 3> sums{operations, transfers, elsewhere};
    std::array<std::int64_t, 3> all_sums{};
    MPI_Reduce(sums.data(), all_sums.data(), 3, MPI_INT64_T, MPI_SUM, 0, all);
    MPI_Reduce(&operations, &step.most, 1, MPI_INT64_T, MPI_MAX, 0, all);
    MPI_Reduce(mine.inside.data(), step.by_call.data(), calls::operations, MPI_INT64_T, MPI_SUM, 0,
               all);
    step.operations = all_sums[0];
    step.transfers = all_sums[1];
    step.elsewhere = all_sums[2];
  }
  kept.value()->who.free();
  return counted;
}

Status Executor::finish() {
  for (const auto& kept : kept_) {
    if (Status status = meet(job_.world, kept->session->close()); !status) return status;
    kept->who.free();
  }
  kept_.clear();
  return {};
}

}  // namespace weir::bench::opening
