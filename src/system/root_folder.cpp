#include "system/root_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <optional>

#include "system/uninterrupted.hpp"

namespace weir::storage {
namespace {

std::optional<std::string> real_path(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> found(::realpath(path.c_str(), nullptr),
                                                          &std::free);
  return found == nullptr ? std::nullopt : std::optional<std::string>(found.get());
}

// Returns what follows a folder's path and `/`, without further `/` before it.
std::optional<std::string> behind(const std::string& path, const std::string& folder) {
  const std::string begin = folder.ends_with('/') ? folder : folder + "/";
  if (!path.starts_with(begin)) return std::nullopt;
  const std::size_t first = path.find_first_not_of('/', begin.size());
  return first == std::string::npos ? std::string() : path.substr(first);
}

}  // namespace

Result<RootFolder> RootFolder::open(const std::string& path, Way way) {
  const auto real = real_path(path);
  const int descriptor = !real || !path.starts_with('/') ? -1 : uninterrupted([&] {
    return ::open(real->c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  });
  if (descriptor < 0) {
    return invalid_argument(
        "the folder below which alone is stored must exist, and its path begins with /", path);
  }
  std::string given = path;
  while (given.size() > 1 && given.ends_with('/')) given.pop_back();
  return RootFolder(File::passed(descriptor, *real, 0), std::move(given), *real, way);
}

Error RootFolder::outside(const std::string& path) const {
  return invalid_argument(
      fmt::format("it does not lie below {}, where alone is stored (weir stage start --root)",
                  given_),
      path);
}

int RootFolder::look(const std::string& relative) const {
  if (way_ == Way::real_paths) return look_at_real_path(relative);
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  const long found = uninterrupted([&] {
    return ::syscall(SYS_openat2, folder_.descriptor(), relative.c_str(), &how, sizeof how);
  });
  if (found >= 0) {
    ::close(static_cast<int>(found));
    return 0;
  }
  // A filter of system calls may answer either of the first two; EAGAIN: something was renamed
  // meanwhile.
  const bool has_none = errno == ENOSYS || errno == EPERM || errno == EAGAIN;
  return has_none ? look_at_real_path(relative) : errno;
}

int RootFolder::look_at_real_path(const std::string& relative) const {
  const auto real = real_path(real_ + "/" + relative);
  if (!real) return errno;
  return *real == real_ || behind(*real, real_) ? 0 : EXDEV;
}

bool RootFolder::is_link(const std::string& relative) const {
  struct stat facts {};
  return ::fstatat(folder_.descriptor(), relative.c_str(), &facts, AT_SYMLINK_NOFOLLOW) == 0 &&
         S_ISLNK(facts.st_mode);
}

Status RootFolder::check(const std::string& path) const {
  auto relative = behind(path, given_);
  if (!relative) relative = behind(path, real_);
  if (!relative || relative->empty() || path.find('\0') != std::string::npos) return outside(path);
  // What does not exist is left out from the end, until something does.
  for (std::string there = *relative;;) {
    const int reason = look(there.empty() ? "." : there);
    if (reason == 0) return {};
    if (reason != ENOENT) {
      return reason == EXDEV || reason == ELOOP ? Status(outside(path))
                                                : system_failure("openat2", path, -1, reason);
    }
    if (is_link(there)) return outside(path);
    while (there.ends_with('/')) there.pop_back();
    const std::size_t slash = there.rfind('/');
    const std::string name = slash == std::string::npos ? there : there.substr(slash + 1);
    if (name == "..") return outside(path);
    there.resize(slash == std::string::npos ? 0 : slash);
  }
}

}  // namespace weir::storage
