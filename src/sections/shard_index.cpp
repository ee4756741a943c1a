#include "sections/shard_index.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <span>

#include "common/crc32c.hpp"
#include "common/numbers_in_bytes.hpp"
#include "system/file.hpp"
#include "system/slices.hpp"

namespace weir::storage {
namespace {

constexpr std::int64_t entry_bytes = 16;
constexpr std::int64_t sum_bytes = 4;
static_assert(sizeof(ShardEntry) == entry_bytes);

}  // namespace

std::int64_t ShardIndexForm::slots() const {
  return array::Box{chunks_per_shard, chunks_per_shard}.elements();
}

std::int64_t ShardIndexForm::bytes() const {
  return slots() * entry_bytes + (summed ? sum_bytes : 0);
}

std::variant<ShardIndex, std::string> read_shard_index(const ShardIndexForm& form,
                                                       const std::string& path) {
  ShardIndex index;
  struct stat information {};
  if (::stat(path.c_str(), &information) != 0 && errno == ENOENT) return index;
  auto file = File::open(path, {});
  if (!file) return file.error().message;
  return read_shard_index(form, file.value());
}

std::variant<ShardIndex, std::string> read_shard_index(const ShardIndexForm& form,
                                                       const File& file) {
  ShardIndex index;
  struct stat information {};
  if (::fstat(file.descriptor(), &information) != 0 || !S_ISREG(information.st_mode)) {
    return std::string("a shard is no file");
  }
  index.file_bytes = information.st_size;
  const std::int64_t bytes = form.bytes();
  if (index.file_bytes < bytes) return std::string("a shard is shorter than its index");
  std::vector<std::byte> read(static_cast<std::size_t>(bytes));
  const Slice slice{read.data(), bytes};
  std::int64_t count = 0;
  std::int64_t calls = 0;
  const Status status =
      read_slices(file, {&slice, 1}, form.at_end ? index.file_bytes - bytes : 0, count, calls);
  if (!status.ok() || count != bytes) return std::string("a shard's index cannot be read");
  const auto entries = static_cast<std::size_t>(form.slots());
  if (form.summed) {
    const std::size_t table = entries * entry_bytes;
    if (number_at<std::uint32_t>(read, table) != crc32c(std::span(read).first(table))) {
      return std::string("a shard's index does not have its checksum");
    }
  }
  index.entries.resize(entries);
  std::memcpy(index.entries.data(), read.data(), entries * entry_bytes);
  return index;
}

std::vector<std::byte> shard_index_bytes(const ShardIndexForm& form,
                                         const std::vector<ShardEntry>& entries) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(form.bytes()));
  const std::size_t table = entries.size() * sizeof(ShardEntry);
  std::memcpy(bytes.data(), entries.data(), table);
  if (form.summed) put_number(bytes, table, crc32c(std::span(bytes).first(table)));
  return bytes;
}

array::Indices corner_of_shard(const array::Indices& chunks_per_shard, const array::Indices& shards,
                               std::int64_t shard) {
  array::Indices corner(shards.size());
  for (int d = shards.size() - 1; d >= 0; --d) {
    corner[d] = shard % shards[d] * chunks_per_shard[d];
    shard /= shards[d];
  }
  return corner;
}

array::Indices chunk_in_slot(const array::Indices& chunks_per_shard, const array::Indices& corner,
                             std::int64_t slot) {
  array::Indices chunk = corner;
  for (int d = corner.size() - 1; d >= 0; --d) {
    chunk[d] += slot % chunks_per_shard[d];
    slot /= chunks_per_shard[d];
  }
  return chunk;
}

}  // namespace weir::storage
