#include "sections/encoded_writer.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "sections/encoded_array.hpp"
#include "system/file_replacement.hpp"
#include "system/slices.hpp"

namespace weir::storage {
namespace {

// Maximum number of shards that are being written at a time. If there are more, some are finished,
// and begun again when later chunks require it.
constexpr std::size_t most_shards = 16;

Status write_at(const DataFileCache& files, const File& file, ConstBytes bytes,
                std::int64_t offset) {
  if (bytes.empty()) return {};
  // Writing does not change the bytes. NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast)
  const Slice slice{const_cast<std::byte*>(bytes.data()), static_cast<std::int64_t>(bytes.size())};
  return files.write(file, {&slice, 1}, offset);
}

// Copies an encoded chunk from one file to another without change.
Status copy_bytes(const DataFileCache& files, const File& from, std::int64_t from_offset,
                  std::int64_t bytes, const File& to, std::int64_t to_offset) {
  constexpr std::int64_t together = 1 << 20;
  std::vector<std::byte> buffer(static_cast<std::size_t>(std::min(bytes, together)));
  for (std::int64_t done = 0; done < bytes;) {
    const Slice slice{buffer.data(), std::min(together, bytes - done)};
    std::int64_t count = 0;
    Status read = files.read(from, {&slice, 1}, from_offset + done, count);
    if (!read.ok()) return read;
    if (count < slice.bytes) {
      return Error(ErrorCode::short_transfer, "a shard ends before its chunks do", from.path());
    }
    Status written = write_at(files, to, ConstBytes(buffer).first(static_cast<std::size_t>(count)),
                              to_offset + done);
    if (!written.ok()) return written;
    done += count;
  }
  return {};
}

}  // namespace

EncodedWriter::EncodedWriter(const ExtentMap& map, DataFileCache& files, PlaceSource source)
    : map_(map), chunks_(*map.encoded()), files_(files), source_(std::move(source)) {}

EncodedWriter::~EncodedWriter() {
  for (const auto& [number, shard] : shards_) ::unlink(shard.file.path().c_str());
}

Status EncodedWriter::put(std::int64_t chunk, const EncodedChunk& encoded) {
  if (std::holds_alternative<FilePerChunk>(chunks_.places)) {
    return write_chunk_file(map_.files.path(chunk), encoded.bytes, files_);
  }
  if (const auto* const shards = std::get_if<EncodedShards>(&chunks_.places)) {
    return put_in_shard(*shards, chunk, encoded.bytes);
  }
  if (!source_) {
    return Error(ErrorCode::unsupported,
                 "encoded chunks of such a file get their places in a step that is committed, not "
                 "by themselves",
                 map_.files.path(0));
  }
  const auto bytes = static_cast<std::int64_t>(encoded.bytes.size());
  const auto offset = source_(bytes);
  if (!offset) return offset.error();
  const auto file = files_.get(map_.files.path(0), 0, map_.files.known());
  if (!file) return file.error();
  Status written = write_at(files_, *file.value(), encoded.bytes, offset.value());
  if (!written.ok()) return written;
  written_.push_back(
      {chunk, {.file = 0, .offset = offset.value(), .bytes = bytes, .skipped = encoded.skipped}});
  return {};
}

Status EncodedWriter::put_in_shard(const EncodedShards& shards, std::int64_t chunk,
                                   ConstBytes bytes) {
  const auto [number, slot] = slot_in_shard(shards, chunks_.grid.coordinates(chunk));
  if (!shards_.contains(number)) {
    if (shards_.size() >= most_shards) {
      Status finished = finish_shard(shards, shards_.begin()->first, shards_.begin()->second);
      if (!finished.ok()) return finished;
    }
    if (Status begun = begin_shard(shards, number); !begun.ok()) return begun;
  }
  Shard& shard = shards_.at(number);
  Status written = write_at(files_, shard.file, bytes, shard.end);
  if (!written.ok()) return written;
  shard.index.entries[static_cast<std::size_t>(slot)] = {static_cast<std::uint64_t>(shard.end),
                                                         bytes.size()};
  shard.end += static_cast<std::int64_t>(bytes.size());
  return {};
}

Status EncodedWriter::begin_shard(const EncodedShards& shards, std::int64_t number) {
  auto file = begin_replacement(map_.files.path(number));
  if (!file) return file.error();
  const ShardIndexForm form{shards.chunks_per_shard, shards.index_at_end, shards.index_summed};
  ShardIndex index;
  index.entries.resize(static_cast<std::size_t>(form.slots()));
  const std::int64_t begin = shards.index_at_end ? 0 : form.bytes();
  shards_.emplace(number, Shard{std::move(file).value(), std::move(index), begin});
  return {};
}

// Appends the other chunks of the previous shard and the index.
Status EncodedWriter::finish_shard(const EncodedShards& shards, std::int64_t number, Shard& shard) {
  const ShardIndexForm form{shards.chunks_per_shard, shards.index_at_end, shards.index_summed};
  const std::string path = map_.files.path(number);
  auto old = read_shard_index(form, path);
  if (const auto* const reason = std::get_if<std::string>(&old)) {
    return Error(ErrorCode::corrupt, *reason, path);
  }
  const ShardIndex& before = std::get<ShardIndex>(old);
  if (!before.entries.empty()) {
    const auto from = File::open(path, {});
    if (!from) return from.error();
    for (std::size_t slot = 0; slot < before.entries.size(); ++slot) {
      const ShardEntry& entry = before.entries[slot];
      if (!entry.is_there() || shard.index.entries[slot].is_there()) continue;
      if (!entry.is_in(before.file_bytes)) {
        return Error(ErrorCode::corrupt, "a chunk lies outside its shard", path);
      }
      const auto bytes = static_cast<std::int64_t>(entry.bytes);
      Status copied = copy_bytes(files_, from.value(), static_cast<std::int64_t>(entry.offset),
                                 bytes, shard.file, shard.end);
      if (!copied.ok()) return copied;
      shard.index.entries[slot] = {static_cast<std::uint64_t>(shard.end), entry.bytes};
      shard.end += bytes;
    }
  }
  const auto index = shard_index_bytes(form, shard.index.entries);
  Status written = write_at(files_, shard.file, index, shards.index_at_end ? shard.end : 0);
  if (!written.ok()) return written;
  Status replaced = put_in_place(shard.file, path, files_);
  if (replaced.ok()) shards_.erase(number);
  return replaced;
}

Status EncodedWriter::finish() {
  const auto* const shards = std::get_if<EncodedShards>(&chunks_.places);
  while (!shards_.empty()) {
    Status finished = finish_shard(*shards, shards_.begin()->first, shards_.begin()->second);
    if (!finished.ok()) return finished;
  }
  return {};
}

std::vector<EncodedTable::Entry> EncodedWriter::take_written() {
  return std::exchange(written_, {});
}

}  // namespace weir::storage
