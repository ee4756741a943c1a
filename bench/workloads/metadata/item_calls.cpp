#include "workloads/metadata/item_calls.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>

#include "workloads/metadata/visit_order.hpp"

namespace weir::bench::metadata {
namespace {

int outcome(int returned) { return returned == 0 ? 0 : errno; }

// Returns the earlier error if there is one, otherwise that of closing.
int closed(int descriptor, int error) {
  const int returned = close(descriptor);
  return error != 0 ? error : outcome(returned);
}

}  // namespace

ItemCalls::ItemCalls(std::int64_t largest, std::uint64_t seed, storage::Durability durability)
    : durability_(durability),
      content_(static_cast<std::size_t>(std::min(largest, most_at_once))),
      buffer_(content_.size()) {
  for (std::size_t i = 0; i < content_.size(); ++i) {
    content_[i] = static_cast<char>(mixed(seed, i / 8) >> (8 * (i % 8)));
  }
}

int ItemCalls::fill(int descriptor, std::int64_t bytes) const {
  for (std::int64_t done = 0; done < bytes;) {
    const auto wanted = static_cast<std::size_t>(std::min(bytes - done, most_at_once));
    const ssize_t written = ::write(descriptor, content_.data(), wanted);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    if (static_cast<std::size_t>(written) != wanted) return short_transfer;
    done += written;
  }
  if (bytes == 0 || durability_ == storage::Durability::none) return 0;
  return outcome(durability_ == storage::Durability::data ? fdatasync(descriptor)
                                                          : fsync(descriptor));
}

int ItemCalls::create(Place place, std::int64_t bytes, bool exclusive) const {
  const int flags = O_WRONLY | O_CREAT | O_CLOEXEC | (exclusive ? O_EXCL : 0);
  const int descriptor = openat(place.directory, place.path, flags, mode_made);
  if (descriptor < 0) return errno;
  return closed(descriptor, bytes > 0 ? fill(descriptor, bytes) : 0);
}

int ItemCalls::write(Place place, std::int64_t bytes) const {
  const int descriptor = openat(place.directory, place.path, O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) return errno;
  return closed(descriptor, fill(descriptor, bytes));
}

int ItemCalls::read(Place place, std::int64_t bytes, bool check) {
  const int descriptor = openat(place.directory, place.path, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return errno;
  int error = 0;
  for (std::int64_t done = 0; done < bytes && error == 0;) {
    const auto wanted = static_cast<std::size_t>(std::min(bytes - done, most_at_once));
    const ssize_t moved = ::read(descriptor, buffer_.data(), wanted);
    if (moved < 0 && errno == EINTR) continue;
    if (moved < 0) {
      error = errno;
    } else if (static_cast<std::size_t>(moved) != wanted) {
      error = short_transfer;
    } else if (check && std::memcmp(buffer_.data(), content_.data(), wanted) != 0) {
      error = wrong_content;
    }
    done += moved;
  }
  return closed(descriptor, error);
}

int ItemCalls::stat(Place place) {
  struct stat found {};
  return outcome(fstatat(place.directory, place.path, &found, 0));
}

int ItemCalls::lstat(Place place) {
  struct stat found {};
  return outcome(fstatat(place.directory, place.path, &found, AT_SYMLINK_NOFOLLOW));
}

int ItemCalls::chmod(Place place) {
  return outcome(fchmodat(place.directory, place.path, mode_set, 0));
}

int ItemCalls::utime(Place place) {
  const std::array<timespec, 2> times{{{time_set, 0}, {time_set, 0}}};
  return outcome(utimensat(place.directory, place.path, times.data(), 0));
}

int ItemCalls::remove(Place place) { return outcome(unlinkat(place.directory, place.path, 0)); }

int ItemCalls::make_directory(Place place) {
  return outcome(mkdirat(place.directory, place.path, 0755));
}

int ItemCalls::remove_directory(Place place) {
  return outcome(unlinkat(place.directory, place.path, AT_REMOVEDIR));
}

int ItemCalls::rename(Place from, Place to) {
  return outcome(renameat(from.directory, from.path, to.directory, to.path));
}

int ItemCalls::link(Place from, Place to) {
  return outcome(linkat(from.directory, from.path, to.directory, to.path, 0));
}

int ItemCalls::symlink(const char* target, Place at) {
  return outcome(symlinkat(target, at.directory, at.path));
}

int ItemCalls::readlink(Place place) {
  std::array<char, PATH_MAX> target{};
  return readlinkat(place.directory, place.path, target.data(), target.size()) > 0 ? 0 : errno;
}

int ItemCalls::truncate(const char* path, std::int64_t bytes) {
  return outcome(::truncate(path, bytes));
}

int ItemCalls::set_attribute(const char* path) {
  return outcome(setxattr(path, attribute_name, attribute_value, sizeof attribute_value, 0));
}

int ItemCalls::get_attribute(const char* path) {
  std::array<char, 64> value{};
  const ssize_t length = getxattr(path, attribute_name, value.data(), value.size());
  if (length < 0) return errno;
  const bool right = length == static_cast<ssize_t>(sizeof attribute_value) &&
                     std::memcmp(value.data(), attribute_value, sizeof attribute_value) == 0;
  return right ? 0 : wrong_content;
}

int ItemCalls::open(Place place) {
  return openat(place.directory, place.path, O_RDONLY | O_CLOEXEC);
}

}  // namespace weir::bench::metadata
