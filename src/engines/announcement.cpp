#include "engines/announcement.hpp"

#include <fcntl.h>
#include <unistd.h>

#include "common/clock.hpp"
#include "common/page.hpp"
#include "engines/system_file.hpp"

namespace weir::storage {
namespace {

// Longer ranges are not announced, because the system reads them ahead in larger requests.
constexpr std::int64_t most_announced = 256 << 10;
// A longer access is attributed to storage: memory takes 1 or 2 µs, a fast disk 50 µs.
constexpr std::int64_t journey_ns = 20'000;
constexpr std::int64_t ranges_per_try = 16;
constexpr std::int64_t ranges_believed = 256;

int descriptor_of(const FileRange& range) {
  return static_cast<const SystemFile*>(range.file)->file().descriptor();
}

void announce(const FileRange& range, std::int64_t offset, std::int64_t bytes) {
  (void)::posix_fadvise(descriptor_of(range), offset, bytes, POSIX_FADV_WILLNEED);
}

// Calls visit(offset) with an offset in each page that the range covers in part: that of the
// range's first or last byte.
template <typename Visit>
void for_each_edge(const FileRange& range, const Visit& visit) {
  const std::int64_t end = range.offset + range.bytes();
  const bool begins_inside = range.offset % page_bytes != 0;
  const bool ends_inside = end % page_bytes != 0;
  const bool in_one_page = range.offset / page_bytes == (end - 1) / page_bytes;
  if (begins_inside) visit(range.offset);
  if (ends_inside && !(begins_inside && in_one_page)) visit(end - 1);
}

}  // namespace

void announce_reads(std::span<const FileRange> ranges) {
  if (ranges.size() < 2) return;
  for (const FileRange& range : ranges) {
    if (range.file->cold() && range.bytes() <= most_announced) {
      announce(range, range.offset, range.bytes());
    }
  }
}

void announce_edges(std::span<const FileRange> ranges) {
  for (const FileRange& range : ranges) {
    auto& file = static_cast<SystemFile&>(*range.file);
    file.edges().watch(file.file().descriptor(), range);
    if (ranges.size() == 1 || !file.edges().wait_for_storage()) continue;
    for_each_edge(range, [&](std::int64_t offset) { announce(range, offset, 1); });
  }
}

void EdgeWaits::watch(int descriptor, const FileRange& range) {
  if (believed_ > 0) --believed_;
  if (until_next_try_ > 0) --until_next_try_;
  if (until_next_try_ > 0 || believed_ > 0) return;
  for_each_edge(range, [&](std::int64_t offset) {
    if (until_next_try_ > 0) return;
    until_next_try_ = ranges_per_try;
    std::byte byte{};
    const std::int64_t began = monotonic_ns();
    (void)!::pread(descriptor, &byte, 1, offset);
    if (monotonic_ns() - began > journey_ns) believed_ = ranges_believed;
  });
}

}  // namespace weir::storage
