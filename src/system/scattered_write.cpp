#include "system/scattered_write.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "common/page.hpp"

namespace weir::storage {
namespace {

// Maximum number of rows and of pieces of memory that Linux accepts in one call (IOV_MAX).
constexpr std::size_t most_rows = 1024;
// Rows with fewer holes between them are written one by one, as that costs no more than to map
// them.
constexpr std::size_t least_holes = 8;
// Bytes of a file that are mapped at the same time.
constexpr std::int64_t most_window_bytes = std::int64_t{4} << 20;
// A mapping of whole huge pages gets those that the page cache has by one fault each; on ext4, a
// fault of a small page there takes as long as 10 calls. It is a multiple of every system's page.
constexpr std::int64_t huge_page = std::int64_t{2} << 20;

// The magic number of XFS, which <linux/magic.h> does not have everywhere.
constexpr long xfs_magic = 0x58465342;

bool may_be_mapped(const File& file) {
  const int flags = ::fcntl(file.descriptor(), F_GETFL);
  if (flags < 0 || (flags & O_ACCMODE) != O_RDWR || (flags & O_DIRECT) != 0) return false;
  struct statfs system {};
  if (::fstatfs(file.descriptor(), &system) != 0) return false;
  const auto type = static_cast<long>(system.f_type);
  return type == EXT4_SUPER_MAGIC || type == xfs_magic || type == TMPFS_MAGIC;
}

// Pages of a file that are mapped as long as the object lives.
class Window {
 public:
  Window(const File& file, std::int64_t begin, std::int64_t end)
      : offset_(begin / huge_page * huge_page),
        bytes_(static_cast<std::size_t>((end - offset_ + huge_page - 1) / huge_page * huge_page)),
        mapped_(::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file.descriptor(),
                       offset_)) {}
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;
  ~Window() {
    if (is_mapped()) ::munmap(mapped_, bytes_);
  }

  [[nodiscard]] bool is_mapped() const { return mapped_ != MAP_FAILED; }
  [[nodiscard]] std::byte* at(std::int64_t offset) const {
    return static_cast<std::byte*>(mapped_) + (offset - offset_);
  }
  // Fetches the pages of these bytes by one call. Without it, each would be a fault of its own;
  // what it cannot fetch, the copy finds.
  void fetch(std::int64_t offset, std::int64_t end) const {
#ifdef MADV_POPULATE_WRITE
    static const std::int64_t page = ::sysconf(_SC_PAGESIZE);
    const std::int64_t begin = offset - (offset - offset_) % page;
    (void)::madvise(at(begin), static_cast<std::size_t>(end - begin), MADV_POPULATE_WRITE);
#else
    (void)offset;
    (void)end;
#endif
  }

 private:
  std::int64_t offset_;
  std::size_t bytes_;
  void* mapped_;
};

// Copies at most most_rows to their places in the window by one call; memory that continues from
// one row to the next is one piece. Returns false if not all bytes were copied.
bool copy_rows(const Window& window, std::span<const PlacedSlice> rows) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): set below as far as they are used
  std::array<iovec, most_rows> places, pieces;
  std::size_t last = 0;
  std::size_t bytes = 0;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const Slice& slice = rows[row].slice;
    const auto length = static_cast<std::size_t>(slice.bytes);
    places.at(row) = {window.at(rows[row].offset), length};
    const bool continues =
        row > 0 && slice.data == rows[row - 1].slice.data + rows[row - 1].slice.bytes;
    if (continues) {
      pieces.at(last).iov_len += length;
    } else {
      if (row > 0) ++last;
      pieces.at(last) = {slice.data, length};
    }
    bytes += length;
  }
  const ssize_t copied =
      ::process_vm_readv(::getpid(), places.data(), rows.size(), pieces.data(), last + 1, 0);
  return copied >= 0 && static_cast<std::size_t>(copied) == bytes;
}

Status write_one_by_one(const File& file, std::span<const PlacedSlice> rows, std::int64_t& bytes,
                        std::int64_t& calls) {
  return for_each_between_holes(rows, [&](std::int64_t offset, std::span<const Slice> slices) {
    std::int64_t now = 0;
    Status written = write_slices(file, slices, offset, now, calls);
    bytes += now;
    return written;
  });
}

// Rows of which each but those behind the last hole begin at most a page behind a hole and the rows
// before it, so that they touch each page from the first to the last.
struct Stretch {
  std::span<const PlacedSlice> rows;
  std::size_t holes = 0;        // between them
  std::size_t behind_last = 0;  // rows behind the last hole

  [[nodiscard]] std::int64_t begin() const { return rows.front().offset; }
  [[nodiscard]] std::int64_t end() const { return rows.back().offset + rows.back().slice.bytes; }
};

Stretch stretch_from(std::span<const PlacedSlice> rows) {
  Stretch found;
  found.behind_last = rows_without_hole(rows);
  std::size_t count = found.behind_last;
  while (count < rows.size()) {
    const std::size_t next = rows_without_hole(rows.subspan(count));
    const PlacedSlice& last = rows[count + next - 1];
    const bool is_near = rows[count].offset - rows[count - found.behind_last].offset <= page_bytes;
    const std::int64_t end = last.offset + last.slice.bytes;
    if (!is_near || end - rows.front().offset > most_window_bytes) break;
    count += next;
    found.behind_last = next;
    ++found.holes;
  }
  found.rows = rows.first(count);
  return found;
}

Status write_through_window(const File& file, std::span<Stretch> stretches, std::int64_t& bytes,
                            std::int64_t& calls) {
  if (stretches.empty()) return {};
  Stretch& last = stretches.back();
  Status ended = write_one_by_one(file, last.rows.last(last.behind_last), bytes, calls);
  if (!ended.ok()) return ended;
  last.rows = last.rows.first(last.rows.size() - last.behind_last);
  const Window window(file, stretches.front().begin(), last.end());
  for (const Stretch& stretch : stretches) {
    if (window.is_mapped()) window.fetch(stretch.begin(), stretch.end());
    for (auto left = stretch.rows; !left.empty();) {
      const auto now = left.first(std::min(left.size(), most_rows));
      left = left.subspan(now.size());
      if (window.is_mapped() && copy_rows(window, now)) {
        for (const PlacedSlice& row : now) bytes += row.slice.bytes;
        ++calls;
      } else if (Status written = write_one_by_one(file, now, bytes, calls); !written.ok()) {
        return written;
      }
    }
  }
  return {};
}

}  // namespace

std::size_t rows_without_hole(std::span<const PlacedSlice> rows) {
  std::size_t count = 1;
  while (count < rows.size() &&
         rows[count].offset == rows[count - 1].offset + rows[count - 1].slice.bytes) {
    ++count;
  }
  return count;
}

Status write_scattered(const File& file, std::span<const PlacedSlice> rows, std::int64_t& bytes,
                       std::int64_t& calls) {
  bytes = 0;
  const bool is_mapped = rows.size() > least_holes && may_be_mapped(file);
  std::vector<Stretch> together;
  while (!rows.empty()) {
    const Stretch now = stretch_from(rows);
    rows = rows.subspan(now.rows.size());
    Status written;
    if (!is_mapped || now.holes < least_holes) {
      written = write_one_by_one(file, now.rows, bytes, calls);
    } else {
      if (!together.empty() && now.end() - together.front().begin() > most_window_bytes) {
        written = write_through_window(file, together, bytes, calls);
        together.clear();
      }
      together.push_back(now);
    }
    if (!written.ok()) return written;
  }
  return write_through_window(file, together, bytes, calls);
}

}  // namespace weir::storage
