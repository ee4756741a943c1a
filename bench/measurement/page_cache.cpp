#include "measurement/page_cache.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <fstream>
#include <vector>

#include "common/checked.hpp"

namespace weir::storage {
namespace {

// Maximum number of pages that are mapped at the same time: 64 MiB of 4 KiB pages. mincore requires
// a mapping, and a file may be larger than the address space that a batch system allows.
constexpr std::int64_t window_pages = 16384;

// This limit keeps the product of two sample numbers within 64 bits.
constexpr std::int64_t most_samples = std::int64_t{1} << 30;

constexpr std::int64_t sector_bytes = 512;  // unit of /sys/dev/block/*/stat on every device

std::int64_t system_page_bytes() { return ::sysconf(_SC_PAGESIZE); }

Result<struct stat> information_of(const File& file) {
  struct stat information {};
  if (::fstat(file.descriptor(), &information) != 0) {
    return system_failure("fstat", file.path(), -1, errno);
  }
  return information;
}

Status check_range(const File& file, std::int64_t offset, std::int64_t bytes) {
  if (offset >= 0 && bytes > 0 && checked_add(offset, bytes)) return {};
  return Error(ErrorCode::invalid_argument,
               fmt::format("no range of a file: {} bytes at offset {}", bytes, offset), file.path(),
               offset);
}

// Since Linux 5.2, mincore reports every page as resident to users who may not write the file.
bool may_ask_for_residency(const File& file, const struct stat& information) {
  const uid_t user = ::geteuid();
  const int flags = ::fcntl(file.descriptor(), F_GETFL);
  const bool opened_for_writing = flags >= 0 && (flags & O_ACCMODE) != O_RDONLY;
  return user == 0 || user == information.st_uid || opened_for_writing;
}

class Mapping {
 public:
  Mapping(const File& file, std::int64_t offset, std::int64_t bytes)
      : bytes_(static_cast<std::size_t>(bytes)),
        address_(::mmap(nullptr, bytes_, PROT_READ, MAP_SHARED, file.descriptor(), offset)) {}
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() {
    if (ok()) ::munmap(address_, bytes_);
  }
  [[nodiscard]] bool ok() const { return address_ != MAP_FAILED; }
  // Sets one byte per page, whose lowest bit says whether the page is resident.
  [[nodiscard]] bool residency(std::vector<unsigned char>& pages) const {
    return ::mincore(address_, bytes_, pages.data()) == 0;
  }

 private:
  std::size_t bytes_;
  void* address_;
};

}  // namespace

Status drop_cached_pages(const File& file, std::int64_t offset, std::int64_t bytes) {
  if (Status checked = check_range(file, offset, bytes); !checked.ok()) return checked;
  // The kernel keeps pages that the range covers in part, so the range is extended to whole pages.
  const std::int64_t page = system_page_bytes();
  const std::int64_t begin = offset / page * page;
  const std::int64_t end = checked_round_up(offset + bytes, page).value_or(offset + bytes);
  const int failed = ::posix_fadvise(file.descriptor(), begin, end - begin, POSIX_FADV_DONTNEED);
  if (failed == 0) return {};
  return system_failure("posix_fadvise", file.path(), offset, failed);
}

Result<double> resident_fraction(const File& file, std::int64_t offset, std::int64_t bytes,
                                 std::int64_t sample_pages) {
  if (Status checked = check_range(file, offset, bytes); !checked.ok()) return checked.error();
  if (sample_pages <= 0) return invalid_argument("at least one page must be sampled");
  const Result<struct stat> information = information_of(file);
  if (!information) return information.error();
  const std::int64_t end_offset =
      std::min<std::int64_t>(offset + bytes, information.value().st_size);
  if (offset >= end_offset) {
    return Error(ErrorCode::invalid_argument,
                 fmt::format("residency asked behind the end of the file, at {} bytes",
                             information.value().st_size),
                 file.path(), offset);
  }
  if (!may_ask_for_residency(file, information.value())) {
    return Error(ErrorCode::unsupported, "the system tells resident pages only to a file's owner",
                 file.path(), offset);
  }

  const std::int64_t page = system_page_bytes();
  const std::int64_t first_page = offset / page;
  const std::int64_t pages = (end_offset - 1) / page - first_page + 1;
  const std::int64_t samples = std::min({pages, sample_pages, most_samples});
  // Sample i of n over p pages is page floor(i * p / n), computed without the large product.
  const auto page_of = [&](std::int64_t sample) {
    return first_page + sample * (pages / samples) + sample * (pages % samples) / samples;
  };

  std::int64_t resident = 0;
  std::vector<unsigned char> states;
  for (std::int64_t sample = 0; sample < samples;) {
    // One window contains all following samples that fit into its size.
    const std::int64_t window_first = page_of(sample);
    std::int64_t after = sample + 1;
    while (after < samples && page_of(after) - window_first < window_pages) ++after;
    const std::int64_t mapped_pages = page_of(after - 1) - window_first + 1;

    const Mapping mapping(file, window_first * page, mapped_pages * page);
    if (!mapping.ok()) {
      const int reason = errno;
      Error error = system_failure("mmap", file.path(), window_first * page, reason);
      if (reason == ENODEV) error.code = ErrorCode::unsupported;
      return error;
    }
    states.assign(static_cast<std::size_t>(mapped_pages), 0);
    if (!mapping.residency(states)) {
      return system_failure("mincore", file.path(), window_first * page, errno);
    }
    for (; sample < after; ++sample) {
      resident += states[static_cast<std::size_t>(page_of(sample) - window_first)] & 1;
    }
  }
  return static_cast<double>(resident) / static_cast<double>(samples);
}

// The fields are those of Documentation/block/stat.rst: 3rd sectors read, 7th sectors written.
Result<DeviceCounters> device_counters(const File& file) {
  const Result<struct stat> information = information_of(file);
  if (!information) return information.error();
  const dev_t device = information.value().st_dev;
  if (major(device) == 0) {
    return Error(ErrorCode::unsupported,
                 "the file system has no block device of its own to count bytes", file.path());
  }
  const std::string path = fmt::format("/sys/dev/block/{}:{}/stat", major(device), minor(device));
  std::ifstream stream(path);
  if (!stream) {
    return Error(ErrorCode::unsupported,
                 fmt::format("the file's device does not count bytes: cannot read {}", path),
                 file.path());
  }
  std::vector<std::int64_t> fields(7);
  for (std::int64_t& field : fields) stream >> field;
  const auto bytes_read = checked_multiply(fields[2], sector_bytes);
  const auto bytes_written = checked_multiply(fields[6], sector_bytes);
  if (!stream || !bytes_read || !bytes_written) {
    return Error(ErrorCode::unsupported,
                 fmt::format("the device's counters are not understood: {}", path), file.path());
  }
  return DeviceCounters{.bytes_read = *bytes_read, .bytes_written = *bytes_written};
}

}  // namespace weir::storage
