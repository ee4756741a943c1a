#include "stager/spill_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): mkostemp is of the system
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "common/page.hpp"
#include "system/incomplete.hpp"
#include "system/own_folder.hpp"
#include "system/slices.hpp"

namespace weir::stager {
namespace {

constexpr std::string_view magic = "WEIRSPIL";

// The file's name exists for a moment only.
Result<storage::File> unnamed_file(const std::string& folder) {
  std::string name = folder + "/weir-spill-XXXXXX";
  const int descriptor = ::mkostemp(name.data(), O_CLOEXEC);
  if (descriptor < 0) return system_failure("open", name, -1, errno);
  storage::File file = storage::File::passed(descriptor, name, 0);
  if (::unlink(name.c_str()) != 0) return system_failure("unlink", name, -1, errno);
  file.renamed(folder);
  return file;
}

}  // namespace

Result<std::unique_ptr<SpillFile>> SpillFile::create(const std::string& folder, std::int64_t quota,
                                                     std::int64_t block_bytes) {
  const std::string place = storage::absolute_path(folder);
  Status own = storage::make_own_folder(place, "the folder for spilled data");
  if (!own.ok()) return own.error();
  const auto most = quota_in(place, quota);
  if (!most) return most.error();
  quota = most.value();
  const std::int64_t record_bytes = block_bytes + static_cast<std::int64_t>(record_head_bytes);
  const std::int64_t slot_bytes = (record_bytes + page_bytes - 1) / page_bytes * page_bytes;
  if (quota < slot_bytes) {
    return invalid_argument(
        fmt::format(
            "{} bytes for spilled data hold no block of {}: start the stager with a quota of "
            "at least {} (weir stage start --spill-quota)",
            quota, block_bytes, slot_bytes),
        place);
  }
  auto file = unnamed_file(place);
  if (!file) return file.error();
  return std::unique_ptr<SpillFile>(
      new SpillFile(std::move(file).value(), slot_bytes, quota / slot_bytes));
}

Status SpillFile::put(std::int64_t slot, std::uint64_t stamp, std::span<std::byte> bytes) const {
  RecordHead head = record_head(magic, stamp, bytes);
  const std::array slices = {storage::Slice{head.data(), std::ssize(head)},
                             storage::Slice{bytes.data(), static_cast<std::int64_t>(bytes.size())}};
  std::int64_t calls = 0;
  return storage::write_slices(file_, slices, slot * slot_bytes_, calls);
}

Status SpillFile::get(std::int64_t slot, std::uint64_t stamp, std::span<std::byte> bytes) const {
  RecordHead head{};
  const std::array slices = {storage::Slice{head.data(), std::ssize(head)},
                             storage::Slice{bytes.data(), static_cast<std::int64_t>(bytes.size())}};
  std::int64_t calls = 0;
  std::int64_t read = 0;
  const std::int64_t offset = slot * slot_bytes_;
  if (Status got = storage::read_slices(file_, slices, offset, read, calls); !got.ok()) return got;
  // Where the file ends too early, the head is one of more bytes than there are.
  const auto whole = static_cast<std::size_t>(std::max<std::int64_t>(read - std::ssize(head), 0));
  if (is_head_of(head, magic, stamp, bytes.first(whole))) return {};
  return Error(ErrorCode::corrupt,
               "data that the stager spilled to the node's disk came back damaged: replace the "
               "disk, or start the stager with another folder (weir stage start --spill)",
               file_.path(), offset);
}

}  // namespace weir::stager
