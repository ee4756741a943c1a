#include "system/shared_memory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "system/uninterrupted.hpp"

namespace weir::storage {
namespace {

Error refused(const char* operation, std::int64_t bytes, int reason) {
  Error error = system_failure(operation, "", -1, reason);
  if (reason == ENOMEM || reason == ENOSPC || reason == EFBIG) error.code = ErrorCode::insufficient;
  error.message += fmt::format(" ({} bytes of memory to share)", bytes);
  return error;
}

}  // namespace

Result<SharedMemory> SharedMemory::create(std::int64_t bytes) {
  // A size above the limit would cause a signal that ends the process, not an error.
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
      limit.rlim_cur < static_cast<rlim_t>(bytes)) {
    Error error = refused("ftruncate", bytes, EFBIG);
    error.message += "; the limit of the size of files (ulimit -f) is lower";
    return error;
  }
  const int descriptor = ::memfd_create("weir", MFD_CLOEXEC);
  if (descriptor < 0) return refused("memfd_create", bytes, errno);
  File file = File::passed(descriptor, "", 0);
  if (Status sized = file.set_length(bytes); !sized.ok()) {
    return refused("ftruncate", bytes, sized.error().system_error);
  }
  return map(std::move(file), bytes);
}

Result<SharedMemory> SharedMemory::map(File passed, std::int64_t bytes) {
  const auto length = static_cast<std::size_t>(bytes);
  void* const mapped =
      ::mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED, passed.descriptor(), 0);
  if (mapped == MAP_FAILED) return refused("mmap", bytes, errno);
  return SharedMemory(std::move(passed), static_cast<std::byte*>(mapped), length);
}

Status SharedMemory::reserve(std::int64_t offset, std::int64_t bytes) const {
  const int answer =
      uninterrupted([&] { return ::fallocate(file_->descriptor(), 0, offset, bytes); });
  if (answer != 0) return refused("fallocate", bytes, errno);
  return {};
}

void SharedMemory::map_pages(std::int64_t offset, std::int64_t bytes) const {
#ifdef MADV_POPULATE_WRITE
  (void)::madvise(data_ + offset, static_cast<std::size_t>(bytes), MADV_POPULATE_WRITE);
#else
  (void)offset;
  (void)bytes;
#endif
}

Status SharedMemory::make_read_only() const {
  if (::mprotect(data_, bytes_, PROT_READ) == 0) return {};
  return refused("mprotect", static_cast<std::int64_t>(bytes_), errno);
}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : file_(std::move(other.file_)),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(other.bytes_) {
  other.file_.reset();
}

SharedMemory& SharedMemory::operator=(SharedMemory&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

SharedMemory::~SharedMemory() {
  if (data_ != nullptr) ::munmap(data_, bytes_);
}

}  // namespace weir::storage
