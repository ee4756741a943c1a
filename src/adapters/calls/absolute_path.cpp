#include "adapters/calls/absolute_path.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

#include "adapters/calls/call_counts.hpp"

namespace weir::calls {
namespace {

// The cached path of the current folder. A writer makes the version odd, so a reader that sees an
// odd version, or two different versions, asks the kernel instead.
struct CurrentFolder {
  std::atomic<unsigned> version{0};
  std::atomic<std::size_t> size{0};
  std::array<char, PATH_MAX> bytes{};
};
constinit CurrentFolder current;

std::size_t ask_for_current_folder(char* bytes) {
  const long length = ::syscall(SYS_getcwd, bytes, static_cast<std::size_t>(PATH_MAX));
  return length > 1 && bytes[0] == '/' ? static_cast<std::size_t>(length) - 1 : 0;
}

// Copies the current folder's path to `bytes`, which has room for PATH_MAX bytes, and returns its
// length.
std::size_t current_folder(char* bytes) {
  const unsigned before = current.version.load(std::memory_order_acquire);
  std::size_t size = current.size.load(std::memory_order_relaxed);
  if ((before & 1U) == 0 && size > 0) {
    std::memcpy(bytes, current.bytes.data(), size);
    std::atomic_thread_fence(std::memory_order_acquire);
    if (current.version.load(std::memory_order_relaxed) == before) return size;
  }
  size = ask_for_current_folder(bytes);
  unsigned even = before & ~1U;
  if (size > 0 &&
      current.version.compare_exchange_strong(even, even + 1, std::memory_order_acq_rel)) {
    std::memcpy(current.bytes.data(), bytes, size);
    current.size.store(size, std::memory_order_relaxed);
    current.version.store(even + 2, std::memory_order_release);
  }
  return size;
}

}  // namespace

void forget_current_folder() {
  current.size.store(0, std::memory_order_relaxed);
  current.version.fetch_add(2, std::memory_order_acq_rel);
}

AbsolutePath::AbsolutePath(int folder_descriptor, const char* path) {
  if (path == nullptr) return;
  const std::string_view given(path);
  bool known = true;
  if (!given.starts_with('/')) {
    std::array<char, PATH_MAX> here;  // not initialized: current_folder() returns its length
    if (folder_descriptor == AT_FDCWD) {
      const std::size_t size = current_folder(here.data());
      known = size > 0 && append({here.data(), size});
    } else if (const FileCounts* open = call_counts().of_descriptor(folder_descriptor)) {
      const char* const folder = open->path.load(std::memory_order_acquire);
      known = folder != nullptr && append(folder);
    } else {
      known = false;
    }
  }
  if (!known || !append(given)) {
    size_ = 0;
  } else if (size_ == 0) {
    bytes_[size_++] = '/';
  }
}

bool AbsolutePath::append(std::string_view path) {
  while (!path.empty()) {
    const std::size_t slash = path.find('/');
    const std::string_view part = path.substr(0, slash);
    path = slash == std::string_view::npos ? std::string_view() : path.substr(slash + 1);
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      const std::size_t before = view().rfind('/');
      size_ = before == std::string_view::npos ? 0 : before;
      continue;
    }
    if (size_ + part.size() + 1 > bytes_.size()) return false;
    bytes_[size_] = '/';
    std::memcpy(bytes_.data() + size_ + 1, part.data(), part.size());
    size_ += part.size() + 1;
  }
  return true;
}

}  // namespace weir::calls
