#include "checksums/verification.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "checksums/sums_file.hpp"
#include "common/crc32c.hpp"
#include "system/slices.hpp"

namespace weir::storage {
namespace {

constexpr std::int64_t part_bytes = 8 << 20;
constexpr std::int64_t compared_at_once = 1 << 20;

}  // namespace

Verification::Verification(std::shared_ptr<const KnownSums> known) : known_(std::move(known)) {
  const SumBook& book = known_->book();
  const std::int64_t block = book.block_bytes();
  const std::int64_t most = std::max(part_bytes / block, std::int64_t{1}) * block;
  for (const NamedRun& run : book.runs()) {
    const std::int64_t file = book.number_of(run.file);
    const std::int64_t end = run.offset + run.bytes;
    for (std::int64_t at = run.offset; at < end;) {
      const std::int64_t to = std::min(end, (at / block) * block + most);
      parts_.push_back({file, at, to});
      at = to;
    }
    bytes_ += run.bytes;
  }
}

Result<std::vector<std::string>> Verification::verify(std::int64_t number, const FileMap& map,
                                                      DataFileCache& files) {
  std::vector<std::string> lines;
  const Part& part = parts_[static_cast<std::size_t>(number)];
  const SumBook& book = known_->book();
  const std::string& name = book.name_of(part.file);
  // A name that leads out of the file's folder is not the name of one of its data files.
  const bool outside = name.find("..") != std::string::npos || name.find('\0') != std::string::npos;
  if (outside) {
    lines.push_back(
        fmt::format("{}: it names a file outside its folder", sums_path(known_->path())));
    return lines;
  }
  const KnownFile* const whole =
      map.arrays.empty() ? nullptr : map.arrays.front().map.files.known();
  const auto file = files.get(known_->path() + name, 0, whole);
  if (!file) return file.error();
  std::vector<std::byte> room(
      static_cast<std::size_t>(std::min(compared_at_once, part.end - part.begin)));
  Status status;
  book.for_each_block(part.file, part.begin, part.end, [&](const SumBook::Block& block) {
    std::uint32_t sum = 0;
    for (std::int64_t at = block.begin; at < block.end;) {
      const std::int64_t bytes = std::min(block.end - at, static_cast<std::int64_t>(room.size()));
      const Slice slice{room.data(), bytes};
      std::int64_t moved = 0;
      std::int64_t calls = 0;
      status = read_slices(*file.value(), {&slice, 1}, at, moved, calls);
      if (!status.ok()) return false;
      sum = crc32c({room.data(), static_cast<std::size_t>(moved)}, sum);
      if (moved < bytes) break;  // the file is truncated, so the block has changed
      at += bytes;
    }
    if (sum == block.sum || !known_->is_damaged(part.file, block, sum)) return true;
    std::call_once(looked_for_owners_, [&] { owners_.emplace(map, known_->path()); });
    lines.push_back(owners_->differing_block(name, block, sum).text());
    return true;
  });
  if (!status.ok()) return status.error();
  return lines;
}

}  // namespace weir::storage
