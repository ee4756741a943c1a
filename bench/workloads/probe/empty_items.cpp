#include "workloads/probe/empty_items.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>
#include <string_view>
#include <utility>

#include "common/clock.hpp"

namespace weir::bench::probe {
namespace {

constexpr ItemStep steps[] = {
    {.name = "create", .each = &EmptyItems::create},
    {.name = "stat", .each = &EmptyItems::stat},
    {.name = "open_close", .each = &EmptyItems::open_and_close},
    {.name = "utime", .each = &EmptyItems::set_times},
    {.name = "readdir", .folder = &EmptyItems::list},
    {.name = "readdir_attributes", .folder = &EmptyItems::list_attributes},
    {.name = "rename", .each = &EmptyItems::rename},
    {.name = "remove", .each = &EmptyItems::remove},
    {.name = "mkdir", .each = &EmptyItems::make_directories},
    {.name = "rmdir", .each = &EmptyItems::remove_directories},
};

Status listing_failed(const std::string& folder, std::int64_t found, std::int64_t entries) {
  Error error;
  error.code = ErrorCode::corrupt;
  error.operation = "readdir";
  error.file = folder;
  error.message = fmt::format(
      "{} lists {} entries, but {} were created: another program may be using the directory",
      folder, found, entries);
  return error;
}

}  // namespace

std::vector<ItemStep> item_steps(bool shared_folder) {
  std::vector<ItemStep> taken;
  std::copy_if(std::begin(steps), std::end(steps), std::back_inserter(taken),
               [&](const ItemStep& step) { return !shared_folder || step.each != nullptr; });
  return taken;
}

EmptyItems::EmptyItems(FailureGuard& guard, std::string folder, int rank, std::int64_t count)
    : guard_(guard), folder_(std::move(folder)) {
  paths_.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    paths_.push_back(fmt::format("{}/empty-{}-{:06}", folder_, rank, i));
  }
}

Status EmptyItems::make_folder() {
  return ::mkdir(folder_.c_str(), 0777) == 0 ? Status()
                                             : system_failure("mkdir", folder_, -1, errno);
}

Status EmptyItems::remove_folder() {
  return ::rmdir(folder_.c_str()) == 0 ? Status() : system_failure("rmdir", folder_, -1, errno);
}

template <typename Call>
Status EmptyItems::each(const char* operation, Times* times, const Call& call) {
  Status status;
  times->start_ns = monotonic_ns();
  for (std::string& path : paths_) {
    guard_.entering(operation, &path, -1);
    if (call(path)) continue;
    status = system_failure(operation, path, -1, errno);
    break;
  }
  times->end_ns = monotonic_ns();
  guard_.left();
  return status;
}

Status EmptyItems::create(Times* times) {
  return each("create", times, [](const std::string& path) {
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
    const int descriptor = ::open(path.c_str(), flags, 0666);
    return descriptor >= 0 && ::close(descriptor) == 0;
  });
}

Status EmptyItems::stat(Times* times) {
  return each("stat", times, [](const std::string& path) {
    struct stat information {};
    return ::stat(path.c_str(), &information) == 0;
  });
}

Status EmptyItems::open_and_close(Times* times) {
  return each("open", times, [](const std::string& path) {
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    return descriptor >= 0 && ::close(descriptor) == 0;
  });
}

Status EmptyItems::set_times(Times* times) {
  constexpr timespec some_time{1'000'000'000, 0};
  return each("utime", times, [&](const std::string& path) {
    const std::array<timespec, 2> both{some_time, some_time};
    return ::utimensat(AT_FDCWD, path.c_str(), both.data(), 0) == 0;
  });
}

Status EmptyItems::list(Times* times, std::int64_t entries) {
  return listed(times, entries, false);
}

Status EmptyItems::list_attributes(Times* times, std::int64_t entries) {
  return listed(times, entries, true);
}

Status EmptyItems::listed(Times* times, std::int64_t entries, bool attributes) {
  times->start_ns = times->end_ns = monotonic_ns();
  guard_.entering("readdir", &folder_, -1);
  DIR* directory = ::opendir(folder_.c_str());
  if (directory == nullptr) {
    const int error = errno;
    guard_.left();
    return system_failure("opendir", folder_, -1, error);
  }
  std::int64_t found = 0;
  errno = 0;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread has this stream
  while (const dirent* entry = ::readdir(directory)) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    ++found;
    struct stat information {};
    if (attributes &&
        ::fstatat(dirfd(directory), entry->d_name, &information, AT_SYMLINK_NOFOLLOW) != 0) {
      break;
    }
    errno = 0;
  }
  const int error = errno;
  ::closedir(directory);
  times->end_ns = monotonic_ns();
  guard_.left();
  if (error != 0) return system_failure("readdir", folder_, -1, error);
  return found == entries ? Status() : listing_failed(folder_, found, entries);
}

Status EmptyItems::rename(Times* times) {
  return each("rename", times, [](std::string& path) {
    const std::string after = path + "-r";
    if (::rename(path.c_str(), after.c_str()) != 0) return false;
    path = after;
    return true;
  });
}

Status EmptyItems::remove(Times* times) {
  return each("unlink", times, [](const std::string& path) { return ::unlink(path.c_str()) == 0; });
}

Status EmptyItems::make_directories(Times* times) {
  return each("mkdir", times,
              [](const std::string& path) { return ::mkdir(path.c_str(), 0777) == 0; });
}

Status EmptyItems::remove_directories(Times* times) {
  return each("rmdir", times, [](const std::string& path) { return ::rmdir(path.c_str()) == 0; });
}

}  // namespace weir::bench::probe
