#include "stager/disk_record.hpp"

#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>

#include "common/crc32c.hpp"
#include "common/numbers_in_bytes.hpp"

namespace weir::stager {
namespace {

constexpr std::uint32_t record_version = 1;
constexpr std::size_t summed_bytes = 32;  // of the head

}  // namespace

RecordHead record_head(std::string_view magic, std::uint64_t stamp,
                       std::span<const std::byte> bytes) {
  RecordHead head{};
  std::transform(magic.begin(), magic.end(), head.begin(),
                 [](char one) { return static_cast<std::byte>(one); });
  storage::put_number(head, 8, record_version);
  storage::put_number(head, 12, storage::crc32c(bytes));
  storage::put_number(head, 16, stamp);
  storage::put_number(head, 24, std::uint64_t{bytes.size()});
  storage::put_number(head, summed_bytes, storage::crc32c(std::span(head).first(summed_bytes)));
  return head;
}

bool is_head_of(std::span<const std::byte> head, std::string_view magic, std::uint64_t stamp,
                std::span<const std::byte> bytes) {
  const RecordHead expected = record_head(magic, stamp, bytes);
  return std::equal(head.begin(), head.end(), expected.begin(), expected.end());
}

std::optional<std::uint64_t> bytes_behind(std::span<const std::byte> head, std::string_view magic,
                                          std::uint64_t stamp) {
  RecordHead expected = record_head(magic, stamp, {});
  if (head.size() != expected.size()) return std::nullopt;
  // The checksum of the bytes, and their number, are known only from the head itself.
  std::copy_n(head.begin() + 12, 4, expected.begin() + 12);
  std::copy_n(head.begin() + 24, 8, expected.begin() + 24);
  storage::put_number(expected, summed_bytes,
                      storage::crc32c(std::span(expected).first(summed_bytes)));
  if (!std::equal(head.begin(), head.end(), expected.begin())) return std::nullopt;
  return storage::number_at<std::uint64_t>(head, 24);
}

Result<std::int64_t> quota_in(const std::string& folder, std::int64_t quota) {
  if (quota > 0) return quota;
  struct statvfs about {};
  if (::statvfs(folder.c_str(), &about) != 0) return system_failure("statvfs", folder, -1, errno);
  return static_cast<std::int64_t>(about.f_bavail) * static_cast<std::int64_t>(about.f_frsize) / 2;
}

}  // namespace weir::stager
