// The protocol of one repetition, on every rank:
//   1. All ranks meet twice: the second barrier is short, so that all begin at once.
//   2. For --seconds the other ranks call stat on their files in turn, and the pollers poll. Then
//      rank 0 writes this repetition's word behind those of the repetitions before, so that a file
//      system's client cannot mistake its cached words for it. A poller is done when it finds the
//      new word. Ranks that have no part sleep, so that they take no processor from the others.
//   3. The ranks meet. Then, unmeasured, every poller reads the flag and checks the word.
#include "workloads/flagfile/execute.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>

#include "common/clock.hpp"

namespace weir::bench::flagfile {
namespace {

constexpr std::int64_t look_after_ns = 20'000'000;  // how often the deadline's watch is updated

// Waits while the guard's thread removes everything and ends the process.
[[noreturn]] void wait_for_the_end() {
  while (true) std::this_thread::sleep_for(std::chrono::seconds(1));
}

void sleep(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

// A file descriptor that closes itself.
class Descriptor {
 public:
  Descriptor(const std::string& path, int flags) : number_(::open(path.c_str(), flags, 0644)) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  [[nodiscard]] int number() const { return number_; }

 private:
  int number_;
};

}  // namespace

Executor::Executor(const Job& job, FailureGuard& guard, const CoreSettings& core,
                   const Options& options, std::string root)
    : job_(job),
      guard_(guard),
      core_(core),
      options_(options),
      folder_(fmt::format("{}/rank-{}", root, job.rank)),
      flag_(root + "/flag") {}

Status Executor::meet(Status mine, std::int64_t* wait_ns) {
  return agree_on(job_, std::move(mine), &failed_rank_, wait_ns);
}

Part Executor::part_of(const Variant& variant) const {
  if (job_.rank < options_.others) return Part::other;
  return job_.rank < options_.others + variant.pollers ? Part::poller : Part::idle;
}

Status Executor::begin() {
  guard_.entering("making files", &folder_, -1);
  Status status = job_.rank < options_.others ? make_files() : Status();
  if (status.ok() && job_.rank == 0) status = make_flag();
  guard_.left();
  return meet(std::move(status));
}

Status Executor::make_files() {
  if (mkdir(folder_.c_str(), 0755) != 0) return system_failure("mkdir", folder_, -1, errno);
  files_.reserve(static_cast<std::size_t>(options_.files));
  for (std::int64_t i = 0; i < options_.files; ++i) {
    files_.push_back(fmt::format("{}/file-{}", folder_, i));
    if (guard_.ending()) wait_for_the_end();
    const Descriptor made(files_.back(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC);
    if (made.number() < 0) return system_failure("open", files_.back(), -1, errno);
  }
  return {};
}

Status Executor::finish() {
  guard_.entering("removing files", &folder_, -1);
  Status status = job_.rank < options_.others ? remove_files() : Status();
  if (status.ok() && job_.rank == 0 && unlink(flag_.c_str()) != 0) {
    status = system_failure("unlink", flag_, -1, errno);
  }
  guard_.left();
  return meet(std::move(status));
}

Status Executor::remove_files() {
  for (const std::string& path : files_) {
    if (unlink(path.c_str()) != 0) return system_failure("unlink", path, -1, errno);
  }
  return rmdir(folder_.c_str()) == 0 ? Status() : system_failure("rmdir", folder_, -1, errno);
}

Result<RankRecord> Executor::run(const Variant& variant) {
  ++token_;
  RankRecord record;
  record.part = part_of(variant);
  Status status = meet({});
  if (!status) return status.error();
  if (status = meet({}); !status) return status.error();
  const std::int64_t start = monotonic_ns();
  switch (record.part) {
    case Part::other:
      status = look_at_own_files(&record);
      break;
    case Part::poller:
      status = poll(&record);
      break;
    case Part::idle:
      sleep(options_.seconds);
      break;
  }
  record.active = {.start_ns = start, .end_ns = monotonic_ns()};
  // The flag is set even after a failure, because the pollers wait for it.
  if (job_.rank == 0) {
    record.flag_ns = monotonic_ns();
    Status set = set_flag();
    if (status.ok()) status = std::move(set);
  }
  guard_.left();
  if (status = meet(std::move(status), &record.wait_ns); !status) return status.error();
  if (core_.verify && record.part == Part::poller) status = check_flag();
  if (status = meet(std::move(status)); !status) return status.error();
  return record;
}

Status Executor::look_at_own_files(RankRecord* record) {
  std::int64_t now = monotonic_ns();
  const std::int64_t end = now + static_cast<std::int64_t>(options_.seconds * 1e9);
  std::int64_t watched = 0;
  for (std::size_t place = 0; now < end; place = (place + 1) % files_.size()) {
    if (guard_.ending()) wait_for_the_end();
    const std::string& path = files_[place];
    if (now - watched > look_after_ns) {
      guard_.entering("stat", &path, -1);
      watched = now;
    }
    struct stat found {};
    const int result = stat(path.c_str(), &found);
    const std::int64_t done = monotonic_ns();
    record->latencies.record(done - now);
    record->busy_ns += done - now;
    ++record->operations;
    now = done;
    if (result != 0) return system_failure("stat", path, -1, errno);
    if (!core_.verify) continue;
    ++record->files_verified;
    if (S_ISREG(found.st_mode) && found.st_size == 0) continue;
    Error error = system_failure("stat", path, -1, EIO);
    error.code = ErrorCode::corrupt;
    error.message = fmt::format("stat found other than this rank's empty file (file {})", path);
    return error;
  }
  return {};
}

Status Executor::poll(RankRecord* record) {
  const std::int64_t latest =
      job_.deadline_ns() + static_cast<std::int64_t>(options_.seconds * 1e9);
  std::int64_t now = monotonic_ns();
  std::int64_t watched = 0;
  while (true) {
    if (guard_.ending()) wait_for_the_end();
    if (now - watched > look_after_ns) {
      guard_.entering("polling", &flag_, -1);
      watched = now;
    }
    const auto set = is_set();
    const std::int64_t done = monotonic_ns();
    record->latencies.record(done - now);
    record->busy_ns += done - now;
    ++record->operations;
    if (!set) return set.error();
    if (set.value()) {
      record->flag_ns = done;
      return {};
    }
    if (done > latest) {
      Error error = system_failure("polling", flag_, -1, ETIMEDOUT);
      error.code = ErrorCode::deadline;
      error.message = fmt::format(
          "a poller did not see the flag set within --deadline; this may take longer on a file "
          "system whose clients cache attributes of files (file {})",
          flag_);
      return error;
    }
    if (options_.interval_seconds > 0) sleep(options_.interval_seconds);
    now = monotonic_ns();
  }
}

std::int64_t Executor::place_of_word() const {
  return static_cast<std::int64_t>((token_ - 1) * sizeof token_);
}

Result<bool> Executor::is_set() {
  if (!options_.by_reading) {
    struct stat found {};
    if (stat(flag_.c_str(), &found) != 0) return system_failure("stat", flag_, -1, errno);
    return found.st_size > place_of_word();
  }
  const Descriptor opened(flag_, O_RDONLY | O_CLOEXEC);
  if (opened.number() < 0) return system_failure("open", flag_, -1, errno);
  std::uint64_t word = 0;
  const ssize_t got = ::pread(opened.number(), &word, sizeof word, place_of_word());
  if (got < 0) return system_failure("read", flag_, place_of_word(), errno);
  return got == static_cast<ssize_t>(sizeof word) && word == token_;
}

Status Executor::set_flag() {
  const Descriptor opened(flag_, O_WRONLY | O_CLOEXEC);
  if (opened.number() < 0) return system_failure("open", flag_, -1, errno);
  const ssize_t wrote = ::pwrite(opened.number(), &token_, sizeof token_, place_of_word());
  if (wrote == static_cast<ssize_t>(sizeof token_)) return {};
  return system_failure("write", flag_, -1, wrote < 0 ? errno : ENOSPC);
}

Status Executor::make_flag() {
  const Descriptor opened(flag_, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC);
  return opened.number() >= 0 ? Status() : system_failure("open", flag_, -1, errno);
}

Status Executor::check_flag() {
  const Descriptor opened(flag_, O_RDONLY | O_CLOEXEC);
  if (opened.number() < 0) return system_failure("open", flag_, -1, errno);
  std::uint64_t word = 0;
  if (::pread(opened.number(), &word, sizeof word, place_of_word()) ==
          static_cast<ssize_t>(sizeof word) &&
      word == token_) {
    return {};
  }
  Error error = system_failure("read", flag_, -1, EIO);
  error.code = ErrorCode::corrupt;
  error.message =
      fmt::format("the flag contains {}, but {} was written (file {})", word, token_, flag_);
  return error;
}

}  // namespace weir::bench::flagfile
