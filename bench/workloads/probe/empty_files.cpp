#include "workloads/probe/empty_files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "common/clock.hpp"

namespace weir::bench::probe {

EmptyFiles::EmptyFiles(FailureGuard& guard, const std::string& folder, std::int64_t count)
    : guard_(guard) {
  paths_.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    paths_.push_back(fmt::format("{}/empty-{:06}", folder, i));
  }
}

template <typename Call>
Status EmptyFiles::each(const char* operation, Times* times, const Call& call) {
  Status status;
  times->start_ns = monotonic_ns();
  for (const std::string& path : paths_) {
    guard_.entering(operation, &path, -1);
    if (call(path.c_str())) continue;
    status = system_failure(operation, path, -1, errno);
    break;
  }
  times->end_ns = monotonic_ns();
  guard_.left();
  return status;
}

Status EmptyFiles::create(Times* times) {
  return each("create", times, [](const char* path) {
    const int descriptor = ::open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    return descriptor >= 0 && ::close(descriptor) == 0;
  });
}

Status EmptyFiles::stat(Times* times) {
  return each("stat", times, [](const char* path) {
    struct stat information {};
    return ::stat(path, &information) == 0;
  });
}

Status EmptyFiles::remove(Times* times) {
  return each("unlink", times, [](const char* path) { return ::unlink(path) == 0; });
}

}  // namespace weir::bench::probe
