// POSIX calls: one at a time, or many in flight by io_uring. A part of an array is moved with one
// call for each of its runs.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <string_view>
#include <utility>

#include "interfaces/available.hpp"
#include "interfaces/file_of_engine.hpp"
#include "interfaces/interface.hpp"
#include "system/file.hpp"

namespace weir::bench {

// Is defined in uring_names.cpp, which a build without liburing lacks.
Result<std::unique_ptr<NameCalls>> uring_name_calls(const SessionSettings& settings,
                                                    const NameMemory& memory, NameCallSet needed);

namespace {

int outcome(int returned) { return returned == 0 ? 0 : errno; }

class PosixNames final : public NameCalls {
 public:
  PosixNames(const NameMemory& memory, storage::Durability durability)
      : memory_(memory), durability_(durability) {}

  int make(const NameRequest& request) override {
    const Place& place = request.place;
    const Place& second = request.second;
    const char* path = place.path;
    switch (request.call) {
      case NameCall::mkdir:
        return outcome(mkdirat(place.directory, path, 0755));
      case NameCall::rmdir:
        return outcome(unlinkat(place.directory, path, AT_REMOVEDIR));
      case NameCall::create:
        return with_content(request, O_WRONLY | O_CREAT | (request.exclusive ? O_EXCL : 0));
      case NameCall::write:
        return with_content(request, O_WRONLY);
      case NameCall::read:
        return with_content(request, O_RDONLY);
      case NameCall::open:
        open_[request.handle] = openat(place.directory, path, O_RDONLY | O_CLOEXEC);
        return open_[request.handle] < 0 ? errno : 0;
      case NameCall::close:
        return outcome(::close(open_[request.handle]));
      case NameCall::stat:
      case NameCall::lstat: {
        struct stat found {};
        const int links = request.call == NameCall::lstat ? AT_SYMLINK_NOFOLLOW : 0;
        return outcome(fstatat(place.directory, path, &found, links));
      }
      case NameCall::utime: {
        const std::array<timespec, 2> times{{{time_set, 0}, {time_set, 0}}};
        return outcome(utimensat(place.directory, path, times.data(), 0));
      }
      case NameCall::chmod:
        return outcome(fchmodat(place.directory, path, mode_set, 0));
      case NameCall::truncate:
        return outcome(::truncate(path, request.bytes));
      case NameCall::setxattr:
        return outcome(
            ::setxattr(path, attribute_name, attribute_value, sizeof attribute_value, 0));
      case NameCall::getxattr:
        return get_attribute(path);
      case NameCall::rename:
        return outcome(renameat(place.directory, path, second.directory, second.path));
      case NameCall::link:
        return outcome(linkat(place.directory, path, second.directory, second.path, 0));
      case NameCall::symlink:
        return outcome(symlinkat(path, second.directory, second.path));
      case NameCall::readlink: {
        std::array<char, PATH_MAX> target{};
        return readlinkat(place.directory, path, target.data(), target.size()) > 0 ? 0 : errno;
      }
      case NameCall::unlink:
        return outcome(unlinkat(place.directory, path, 0));
      case NameCall::readdir:
        break;
    }
    return NameCalls::make(request);
  }

  int list(const char* path, bool attributes, const std::function<void()>& found) override {
    DIR* directory = opendir(path);
    if (directory == nullptr) return errno;
    int error = 0;
    errno = 0;
    // NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread has this stream
    while (const dirent* entry = ::readdir(directory)) {
      const std::string_view name = entry->d_name;
      if (name == "." || name == "..") continue;
      found();
      if (attributes) {
        error = make({.call = NameCall::lstat, .place = {dirfd(directory), entry->d_name}});
      }
      if (error != 0) break;
      errno = 0;
    }
    if (error == 0) error = errno;
    closedir(directory);
    return error;
  }

 private:
  [[nodiscard]] int with_content(const NameRequest& request, int flags) const {
    const int descriptor =
        openat(request.place.directory, request.place.path, flags | O_CLOEXEC, mode_made);
    if (descriptor < 0) return errno;
    const bool reads = request.call == NameCall::read;
    const int error = reads ? fetch(descriptor, request) : fill(descriptor, request.bytes);
    const int closed = outcome(::close(descriptor));
    return error != 0 ? error : closed;
  }

  [[nodiscard]] int fill(int descriptor, std::int64_t bytes) const {
    if (bytes == 0) return 0;
    const auto most = static_cast<std::int64_t>(memory_.content.size());
    for (std::int64_t done = 0; done < bytes;) {
      const auto wanted = static_cast<std::size_t>(std::min(bytes - done, most));
      const ssize_t written = ::write(descriptor, memory_.content.data(), wanted);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return errno;
      if (static_cast<std::size_t>(written) != wanted) return short_transfer;
      done += written;
    }
    if (durability_ == storage::Durability::none) return 0;
    return outcome(durability_ == storage::Durability::data ? fdatasync(descriptor)
                                                            : fsync(descriptor));
  }

  [[nodiscard]] int fetch(int descriptor, const NameRequest& request) const {
    const auto most = static_cast<std::int64_t>(memory_.buffer.size());
    for (std::int64_t done = 0; done < request.bytes;) {
      const auto wanted = static_cast<std::size_t>(std::min(request.bytes - done, most));
      const ssize_t moved = ::read(descriptor, memory_.buffer.data(), wanted);
      if (moved < 0 && errno == EINTR) continue;
      if (moved < 0) return errno;
      if (static_cast<std::size_t>(moved) != wanted) return short_transfer;
      if (request.compare &&
          std::memcmp(memory_.buffer.data(), memory_.content.data(), wanted) != 0) {
        return wrong_content;
      }
      done += moved;
    }
    return 0;
  }

  [[nodiscard]] static int get_attribute(const char* path) {
    std::array<char, 64> value{};
    const ssize_t length = ::getxattr(path, attribute_name, value.data(), value.size());
    if (length < 0) return errno;
    const bool right = length == static_cast<ssize_t>(sizeof attribute_value) &&
                       std::memcmp(value.data(), attribute_value, sizeof attribute_value) == 0;
    return right ? 0 : wrong_content;
  }

  NameMemory memory_;
  storage::Durability durability_;
  std::array<int, most_open> open_{};
};

class PosixSession final : public Session {
 public:
  PosixSession(std::unique_ptr<storage::Engine> engine, bool in_flight,
               const SessionSettings& settings)
      : Session(settings), engine_(std::move(engine)), in_flight_(in_flight) {}

  storage::Engine* engine() override {
    return in_flight_ || settings().submission != Submission::none ? engine_.get() : nullptr;
  }

  Result<std::unique_ptr<File>> open(const FileRequest& request) override {
    if (Status made = preallocate(request); !made) return made.error();
    auto file = engine_->open(
        request.path,
        {.write = request.write, .create = request.create, .direct = settings().direct});
    if (!file) return file.error();
    return std::unique_ptr<File>(std::make_unique<FileOfEngine>(*engine_, std::move(file).value(),
                                                                settings().durability, request));
  }

  Result<std::unique_ptr<NameCalls>> name_calls(const NameMemory& memory,
                                                NameCallSet needed) override {
    if constexpr (has_liburing) {
      if (in_flight_) return uring_name_calls(settings(), memory, needed);
    }
    return std::unique_ptr<NameCalls>(std::make_unique<PosixNames>(memory, settings().durability));
  }

 private:
  Status preallocate(const FileRequest& request) const {
    int rank = 0;
    MPI_Comm_rank(request.communicator, &rank);
    if (!request.write || !settings().preallocate || rank != 0) return {};
    auto file = storage::File::open(request.path, {.write = true, .create = request.create});
    if (!file) return file.error();
    const int refused = posix_fallocate(file.value().descriptor(), 0, request.bytes);
    if (refused != 0) return system_failure("posix_fallocate", request.path, -1, refused);
    return file.value().close();
  }

  std::unique_ptr<storage::Engine> engine_;
  bool in_flight_;
};

}  // namespace

Result<std::unique_ptr<Session>> open_posix(const Interface& interface,
                                            const SessionSettings& settings) {
  std::unique_ptr<storage::Engine> engine;
  if (interface.can.queue) {
    auto uring =
        storage::make_uring_engine({.in_flight = static_cast<unsigned>(settings.queue_depth)});
    if (!uring) return uring.error();
    engine = std::move(uring).value();
  } else if (settings.submission == Submission::background) {
    engine = storage::make_background_engine();
  } else {
    engine = storage::make_posix_engine();
  }
  return std::unique_ptr<Session>(
      std::make_unique<PosixSession>(std::move(engine), interface.can.queue, settings));
}

}  // namespace weir::bench
