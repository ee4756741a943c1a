#include "storage/striping.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <utility>
#include <vector>

#include "common/clock.hpp"
#include "storage/engines/file.hpp"

namespace weir::storage {
namespace {

enum class Kind : std::uint8_t { file, folder };

// A metadata server that fails over may take minutes.
constexpr std::int64_t program_seconds = 600;
constexpr std::int64_t most_targets = 1 << 20;
constexpr std::int64_t most_stripe_bytes = std::int64_t{1} << 40;

Error refused(std::string message, const std::string& path, ErrorCode code) {
  Error error;
  error.code = code;
  error.message = std::move(message);
  error.file = path;
  return error;
}

// Runs a program of the search path; what it wrote on standard error is the message.
Status run(const std::vector<std::string>& words, const std::string& path) {
  std::array<int, 2> pipe{-1, -1};
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0) return system_failure("pipe", path, -1, errno);
  File reading = File::passed(pipe[0], "", 0);
  File writing = File::passed(pipe[1], "", 0);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, pipe[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, pipe[1], STDERR_FILENO);
  std::vector<std::string> copies = words;
  std::vector<char*> arguments;
  arguments.reserve(copies.size() + 1);
  for (std::string& word : copies) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t child = -1;
  const int failed =
      ::posix_spawnp(&child, words.front().c_str(), &files, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  static_cast<void>(writing.close());
  if (failed != 0) {
    return refused(
        fmt::format("the layout cannot be set: the command {} cannot be run ({})", words.front(),
                    std::strerror(failed)),  // NOLINT(concurrency-mt-unsafe)
        path, ErrorCode::unsupported);
  }
  std::string said;
  std::array<char, 512> part{};
  const std::int64_t end = monotonic_ns() + program_seconds * 1'000'000'000;
  for (ssize_t got = 1; got != 0;) {
    const std::int64_t left_ms = (end - monotonic_ns()) / 1'000'000;
    pollfd readable{.fd = reading.descriptor(), .events = POLLIN, .revents = 0};
    const int ready = left_ms > 0 ? ::poll(&readable, 1, static_cast<int>(left_ms)) : 0;
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) {
      ::kill(child, SIGKILL);
      said = fmt::format("not done after {} s", program_seconds);
      break;
    }
    got = ::read(reading.descriptor(), part.data(), part.size());
    if (got < 0 && errno != EINTR) break;
    if (got > 0 && said.size() < part.size()) {
      said.append(part.data(), static_cast<std::size_t>(got));
    }
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  said.erase(said.find_last_not_of(" \n") + 1);
  std::replace(said.begin(), said.end(), '\n', ' ');
  return refused(fmt::format("{} setstripe failed: {}", words.front(), said), path, ErrorCode::io);
}

Status stripe_lustre(const std::string& path, const Striping& striping) {
  std::vector<std::string> words = {"lfs", "setstripe"};
  const auto add = [&](const char* option, const std::string& value) {
    words.insert(words.end(), {option, value});
  };
  if (striping.count != 0) add("-c", std::to_string(striping.count));
  if (striping.stripe_bytes > 0) add("-S", std::to_string(striping.stripe_bytes));
  if (striping.first_target > 0) add("-i", std::to_string(striping.first_target - 1));
  if (!striping.pool.empty()) add("-p", striping.pool);
  words.push_back(path);
  return run(words, path);
}

// "stripe_unit=4194304 stripe_count=1 object_size=4194304 pool=data", of which the first three are
// numbers.
struct CephLayout {
  std::int64_t stripe_unit = 0;
  std::int64_t stripe_count = 0;
  std::int64_t object_size = 0;
  std::string pool;
};

constexpr std::int64_t ceph_object_bytes = 4 << 20;

Status stripe_ceph(const std::string& path, const Striping& striping, Kind kind) {
  if (striping.first_target > 0) {
    return refused("first_target: CephFS chooses itself where objects lie", path,
                   ErrorCode::unsupported);
  }
  if (striping.count == Striping::all_targets) {
    return refused("stripe_count -1: CephFS has no count of all targets; give a number", path,
                   ErrorCode::unsupported);
  }
  const char* const name = kind == Kind::file ? "ceph.file.layout" : "ceph.dir.layout";
  CephLayout layout{ceph_object_bytes, 1, ceph_object_bytes, ""};
  std::array<char, 512> text{};
  const ssize_t got = ::getxattr(path.c_str(), name, text.data(), text.size() - 1);
  // A folder of which no layout was set has no such attribute.
  if (got < 0 && errno != ENODATA) return system_failure("getxattr", path, -1, errno);
  std::istringstream words(got < 0 ? "" : text.data());
  for (std::string word; words >> word;) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) continue;
    std::istringstream value(word.substr(equals + 1));
    const std::string key = word.substr(0, equals);
    if (key == "stripe_unit") value >> layout.stripe_unit;
    if (key == "stripe_count") value >> layout.stripe_count;
    if (key == "object_size") value >> layout.object_size;
    if (key == "pool") value >> layout.pool;
  }
  if (striping.count > 0) layout.stripe_count = striping.count;
  if (striping.stripe_bytes > 0) layout.stripe_unit = striping.stripe_bytes;
  if (!striping.pool.empty()) layout.pool = striping.pool;
  // An object holds whole stripes.
  if (layout.object_size % layout.stripe_unit != 0) {
    layout.object_size =
        std::max<std::int64_t>(1, layout.object_size / layout.stripe_unit) * layout.stripe_unit;
  }
  std::string wanted = fmt::format("stripe_unit={} stripe_count={} object_size={}",
                                   layout.stripe_unit, layout.stripe_count, layout.object_size);
  if (!layout.pool.empty()) wanted += " pool=" + layout.pool;
  if (::setxattr(path.c_str(), name, wanted.data(), wanted.size(), 0) != 0) {
    const int reason = errno;
    Error error = system_failure("setxattr", path, -1, reason);
    error.message += fmt::format(" ({} {})", name, wanted);
    return error;
  }
  return {};
}

Status stripe(const std::string& path, const Striping& striping, Kind kind,
              const std::string& mounts) {
  if (striping.empty()) return {};
  if (Status possible = striping.check(); !possible.ok()) {
    possible.error().file = path;
    return possible;
  }
  const std::string folder = std::filesystem::path(path).parent_path().string();
  const auto mount = mount_of(folder.empty() ? "." : folder, mounts);
  const std::string type = mount ? mount->type : "an unknown file system";
  if (type == "lustre") return stripe_lustre(path, striping);
  if (type == "ceph" || type == "fuse.ceph-fuse") {
    if (kind == Kind::file) {
      auto file = File::open(path, {.read = false, .write = true, .create = true});
      if (!file) return file.error();
    }
    return stripe_ceph(path, striping, kind);
  }
  return refused(
      fmt::format("{} cannot be had on {}: only files on Lustre and CephFS get the layout that is "
                  "asked for; leave stripe_count, stripe_bytes, first_target and pool out",
                  striping.text(), type),
      path, ErrorCode::unsupported);
}

}  // namespace

std::string Striping::text() const {
  return fmt::format("stripe_count {}, stripe_bytes {}, first_target {}, pool '{}'", count,
                     stripe_bytes, first_target, pool);
}

Status Striping::check() const {
  if (count < all_targets || count > most_targets) {
    return invalid_argument(
        fmt::format("stripe_count is {}: give 1 to {}, -1 for all targets, or 0 for the folder's",
                    count, most_targets));
  }
  constexpr std::int64_t unit = 64 << 10;
  if (stripe_bytes < 0 || stripe_bytes > most_stripe_bytes || stripe_bytes % unit != 0) {
    return invalid_argument(
        fmt::format("stripe_bytes is {}: give a multiple of {} up to {}, or 0 for the folder's",
                    stripe_bytes, unit, most_stripe_bytes));
  }
  if (first_target < 0 || first_target > most_targets) {
    return invalid_argument(
        fmt::format("first_target is {}: give an index plus 1, up to {}, or 0 for any",
                    first_target, most_targets));
  }
  constexpr std::string_view allowed =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
  constexpr std::size_t longest_pool = 255;
  if (pool.find_first_not_of(allowed) != std::string::npos || pool.starts_with('-') ||
      pool.size() > longest_pool) {
    return invalid_argument(fmt::format(
        "pool is '{}': give a name of letters, digits, '.', '_' and '-'", pool.substr(0, 80)));
  }
  return {};
}

Status make_striped_file(const std::string& path, const Striping& striping,
                         const std::string& mounts) {
  return stripe(path, striping, Kind::file, mounts);
}

Status stripe_folder(const std::string& path, const Striping& striping, const std::string& mounts) {
  return stripe(path, striping, Kind::folder, mounts);
}

}  // namespace weir::storage
