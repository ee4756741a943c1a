#include "sections/encoded_array.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

#include "array/byte_swap.hpp"
#include "array/fill.hpp"
#include "engines/system_file.hpp"
#include "system/file_replacement.hpp"
#include "system/incomplete.hpp"
#include "system/slices.hpp"

namespace weir::storage {
namespace {

// Returns the maximum length of an encoded chunk of another writer, which may be somewhat longer
// than that of Weir's own encoders.
std::int64_t most_of_others(const ChunkCoder& coder) {
  constexpr std::int64_t little = 65536;
  return 2 * coder.most_encoded_bytes() + little;
}

}  // namespace

ChunkForm chunk_form(const ExtentMap& map) {
  const array::Indices& extents = map.encoded()->stored_extents;
  ChunkForm form{.type = map.type, .extents = {}};
  for (int depth = 0; depth < extents.size(); ++depth) {
    form.extents.push_back(extents[array::dimension_at_depth(map.order, extents.size(), depth)]);
  }
  return form;
}

EncodedArray::EncodedArray(const StoredArray& array, DataFileCache& files, ChunkCoder coder)
    : array_(&array),
      chunks_(array.map.encoded()),
      files_(&files),
      coder_(std::move(coder)),
      swapped_together_(array.map.swapped_together()),
      fill_element_(array.description.fill) {
  if (std::cmp_not_equal(fill_element_.size(), array.map.type.bytes())) {
    fill_element_.assign(static_cast<std::size_t>(array.map.type.bytes()), std::byte{0});
  }
}

Result<EncodedArray> EncodedArray::create(const StoredArray& array, DataFileCache& files) {
  auto coder = ChunkCoder::create(array.map.encoded()->pipeline, chunk_form(array.map));
  if (!coder) return coder.error();
  return EncodedArray(array, files, std::move(coder).value());
}

void EncodedArray::fill(std::span<std::byte> elements) const {
  array::fill_elements(elements.data(), std::ssize(elements), fill_element_);
}

Status EncodedArray::load(const Stored& stored, std::span<std::byte>& bytes) {
  const EncodedPlace& place = stored.place;
  std::int64_t count = place.bytes;
  if (count < 0) {
    struct stat information {};
    if (::fstat(stored.file->descriptor(), &information) != 0) {
      return system_failure("stat", stored.file->path(), -1, errno);
    }
    count = information.st_size - place.offset;
  }
  if (count < 0 || count > most_of_others(coder_)) {
    return Error(ErrorCode::corrupt,
                 fmt::format("it is stored in {} bytes, at most {} can be of {} elements", count,
                             most_of_others(coder_), chunk_bytes() / array_->map.type.bytes()));
  }
  if (count > room_) {
    room_ = std::min(most_of_others(coder_), std::max(count, 2 * room_));
    buffer_.reset(new (std::nothrow) std::byte[static_cast<std::size_t>(room_)]);
    if (!buffer_) {
      room_ = 0;
      return Error(ErrorCode::insufficient, "no memory to read it");
    }
  }
  bytes = std::span(buffer_.get(), static_cast<std::size_t>(count));
  if (count == 0) return {};
  const Slice slice{buffer_.get(), count};
  std::int64_t moved = 0;
  Status read = files_->read(*stored.file, {&slice, 1}, place.offset, moved);
  if (read.ok() && moved < count) {
    Error error(ErrorCode::corrupt,
                fmt::format("the file ends after {} of its {} bytes", moved, count));
    error.code = ErrorCode::short_transfer;
    return error;
  }
  return read;
}

Result<std::optional<EncodedPlace>> EncodedArray::place_of(std::int64_t chunk) {
  const auto* const shards = std::get_if<EncodedShards>(&chunks_->places);
  if (shards == nullptr) return chunks_->place_of(chunk);
  const SlotInShard slot = slot_in_shard(*shards, chunks_->grid.coordinates(chunk));
  const std::string path = array_->map.files.path(slot.shard);
  const auto file = files_->get(path, 0, array_->map.files.known());
  if (!file && file.error().system_error == ENOENT) return std::optional<EncodedPlace>();
  if (!file) return file.error();
  if (file.value() != shard_) {
    shard_.reset();
    auto read = read_shard_index(
        {shards->chunks_per_shard, shards->index_at_end, shards->index_summed}, *file.value());
    if (const auto* const reason = std::get_if<std::string>(&read)) {
      Error error(ErrorCode::corrupt, *reason);
      error.file = path;
      return error;
    }
    shard_index_ = std::move(std::get<ShardIndex>(read));
    shard_ = file.value();
  }
  const ShardEntry& entry = shard_index_.entries[static_cast<std::size_t>(slot.slot)];
  if (!entry.is_there()) return std::optional<EncodedPlace>();
  if (!entry.is_in(shard_index_.file_bytes)) {
    Error error(ErrorCode::corrupt, fmt::format("chunk {} lies outside its shard", chunk));
    error.file = path;
    return error;
  }
  return std::optional<EncodedPlace>({.file = slot.shard,
                                      .offset = static_cast<std::int64_t>(entry.offset),
                                      .bytes = static_cast<std::int64_t>(entry.bytes)});
}

Error EncodedArray::with_chunk(Error error, std::int64_t chunk, const EncodedPlace& place) const {
  error.message = fmt::format("chunk {} of array \"{}\": {}", chunk,
                              printable(array_->description.name), error.message);
  if (error.file.empty()) error.file = array_->map.files.path(place.file);
  if (error.offset < 0) error.offset = place.offset;
  return error;
}

Result<std::optional<EncodedArray::Stored>> EncodedArray::find(std::int64_t chunk) {
  const auto place = place_of(chunk);
  if (!place) return place.error();
  if (!place.value()) return std::optional<Stored>();
  const EncodedPlace& where = *place.value();
  auto file = files_->get(array_->map.files.path(where.file), 0, array_->map.files.known());
  if (file) return std::optional(Stored{where, std::move(file).value()});
  const bool may_be_missing = where.bytes < 0;
  if (may_be_missing && file.error().system_error == ENOENT) return std::optional<Stored>();
  return with_chunk(file.error(), chunk, where);
}

Status EncodedArray::decode(std::int64_t chunk, const Stored& stored,
                            std::span<std::byte> elements) {
  std::span<std::byte> bytes;
  Status status = load(stored, bytes);
  if (status.ok()) status = coder_.decode({bytes, stored.place.skipped}, elements);
  if (!status.ok()) return with_chunk(status.error(), chunk, stored.place);
  array::copy_swapped(elements.data(), elements.data(), static_cast<std::int64_t>(elements.size()),
                      swapped_together_);
  return {};
}

Status EncodedArray::read(std::int64_t chunk, std::span<std::byte> elements, bool& there) {
  there = false;
  const auto stored = find(chunk);
  if (!stored) return stored.error();
  there = stored.value().has_value();
  return there ? decode(chunk, *stored.value(), elements) : Status();
}

Result<std::shared_ptr<const DecodedChunk>> EncodedArray::read_kept(std::int64_t chunk,
                                                                    DecodedChunks& kept) {
  using Shared = std::shared_ptr<const DecodedChunk>;
  const auto found = find(chunk);
  if (!found) return found.error();
  if (!found.value()) return Shared();
  const Stored& stored = *found.value();
  // The state is that of the open file, which is still read if another file replaces it.
  const auto state = state_of_file(stored.file->descriptor());
  DecodedChunks::Key key{stored.file->path(), stored.place.offset, array_->description.name};
  if (state) {
    Shared known = kept.find(key, *state);
    if (known && std::cmp_equal(known->elements().size(), chunk_bytes())) return known;
  }
  const auto decoded = DecodedChunk::make(chunk_bytes());
  if (!decoded) return decoded.error();
  Status status = decode(chunk, stored, decoded.value()->elements());
  if (!status.ok()) return status.error();
  if (state) kept.keep(std::move(key), *state, decoded.value());
  return Shared(decoded.value());
}

Result<EncodedChunk> EncodedArray::encode(std::span<std::byte> elements) {
  array::copy_swapped(elements.data(), elements.data(), static_cast<std::int64_t>(elements.size()),
                      swapped_together_);
  return coder_.encode(elements);
}

Status write_chunk_file(const std::string& path, std::span<const std::byte> bytes,
                        DataFileCache& files) {
  auto file = begin_replacement(path);
  if (!file && file.error().system_error == ENOENT) {
    // Arrays of other writers may have one folder per coordinate.
    std::vector<std::string> changed;
    if (Status made = make_folders(path, changed); !made.ok()) return made;
    for (const std::string& folder : changed) files.changed_folder(folder);
    file = begin_replacement(path);
  }
  if (!file) return file.error();
  if (!bytes.empty()) {
    // Writing does not change the bytes. NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast)
    const Slice slice{const_cast<std::byte*>(bytes.data()),
                      static_cast<std::int64_t>(bytes.size())};
    Status written = files.write(file.value(), {&slice, 1}, 0);
    if (!written.ok()) return written;
  }
  return put_in_place(file.value(), path, files);
}

Status put_in_place(File& file, const std::string& path, DataFileCache& files) {
  files.changed_folder(folder_of(path));
  if (is_on_disk(path)) return finish_replacement(file, path, true);
  Status named = rename_replacement(file, path);
  return named.ok() ? files.keep_written(std::move(file)) : named;
}

}  // namespace weir::storage
