#include "storage/sums/verification.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "storage/codecs/crc32c.hpp"
#include "storage/engines/slices.hpp"
#include "storage/sums/block_owner.hpp"
#include "storage/sums/sums_file.hpp"

namespace weir::storage {
namespace {

constexpr std::int64_t part_bytes = 8 << 20;
constexpr std::int64_t read_at_once = 1 << 20;

}  // namespace

Result<Verification> Verification::of(const std::string& path, const FileMap& map) {
  Verification made;
  made.path_ = path;
  while (made.path_.size() > 1 && made.path_.ends_with('/')) made.path_.pop_back();
  const std::string sums_file = sums_path(path);
  const auto text = read_sums(sums_file);
  if (!text) {
    made.damage_ = text.error().text();
    return made;
  }
  ParsedSums parsed = parse_sums(text.value(), map.steps().value_or(1));
  if (!parsed.damage.empty()) made.damage_ = fmt::format("{}: {}", sums_file, parsed.damage);
  made.book_ = std::move(parsed.book);
  const std::int64_t block = made.book_.block_bytes();
  const std::int64_t most = std::max(part_bytes / block, std::int64_t{1}) * block;
  for (const NamedRun& run : made.book_.runs()) {
    const std::int64_t file = made.book_.number_of(run.file);
    const std::int64_t end = run.offset + run.bytes;
    for (std::int64_t at = run.offset; at < end;) {
      const std::int64_t to = std::min(end, (at / block) * block + most);
      made.parts_.push_back({file, at, to});
      at = to;
    }
    made.bytes_ += run.bytes;
  }
  return made;
}

Result<std::vector<std::string>> Verification::verify(std::int64_t number, const FileMap& map,
                                                      DataFileCache& files) const {
  std::vector<std::string> lines;
  const Part& part = parts_[static_cast<std::size_t>(number)];
  const std::string& name = book_.name_of(part.file);
  // A name that leads elsewhere is no data file of this one.
  const bool outside = name.find("..") != std::string::npos || name.find('\0') != std::string::npos;
  if (outside) {
    lines.push_back(fmt::format("{}: names a file outside", sums_path(path_)));
    return lines;
  }
  const auto file = files.get(path_ + name, 0);
  if (!file) return file.error();
  std::vector<std::byte> room(
      static_cast<std::size_t>(std::min(read_at_once, part.end - part.begin)));
  Status status;
  book_.for_each_block(part.file, part.begin, part.end, [&](const SumBook::Block& block) {
    std::uint32_t sum = 0;
    for (std::int64_t at = block.begin; at < block.end;) {
      const std::int64_t bytes = std::min(block.end - at, static_cast<std::int64_t>(room.size()));
      const Slice slice{room.data(), bytes};
      std::int64_t moved = 0;
      std::int64_t calls = 0;
      status = read_slices(*file.value(), {&slice, 1}, at, moved, calls);
      if (!status.ok()) return false;
      sum = crc32c({room.data(), static_cast<std::size_t>(moved)}, sum);
      if (moved < bytes) break;  // cut off: then it is not what it was
      at += bytes;
    }
    if (sum == block.sum) return true;
    lines.push_back(differing_block(map, path_, name, block, sum).text());
    return true;
  });
  if (!status.ok()) return status.error();
  return lines;
}

}  // namespace weir::storage
