#include "sections/decoded_engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "array/copy.hpp"

namespace weir::storage {
namespace {

class DecodedFile final : public EngineFile {
 public:
  using EngineFile::EngineFile;
  Status close() override { return {}; }
};

Status make_room(std::unique_ptr<std::byte[]>& bytes, std::int64_t count) {
  if (bytes) return {};
  bytes.reset(new (std::nothrow) std::byte[static_cast<std::size_t>(count)]);
  if (bytes) return {};
  return Error(ErrorCode::insufficient, fmt::format("no memory for a chunk of {} bytes", count));
}

// Calls piece(slab, from, data, bytes) for the part of each slab that is in a range.
template <typename Piece>
Status for_each_slab(const FileRange& range, std::int64_t slab_bytes, const Piece& piece) {
  std::int64_t offset = range.offset;
  for (const Slice& slice : range.slices) {
    for (std::int64_t done = 0; done < slice.bytes;) {
      const std::int64_t from = offset % slab_bytes;
      const std::int64_t bytes = std::min(slice.bytes - done, slab_bytes - from);
      Status status = piece(offset / slab_bytes, from, slice.data + done, bytes);
      if (!status.ok()) return status;
      done += bytes;
      offset += bytes;
    }
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<DecodedEngine>> DecodedEngine::create(
    StoredArray array, EncodedBlocks blocks, EncodedWriter::PlaceSource source,
    const std::shared_ptr<const SliceMover>& mover, DataFileCache::Closing closing) {
  auto slabs = ChunkSlabs::create(array.map, blocks);
  if (!slabs) return slabs.error();
  std::unique_ptr<DecodedEngine> engine(
      new DecodedEngine(std::move(array), slabs.value(), std::move(source), mover, closing));
  if (Status begun = engine->begin(); !begun.ok()) return begun.error();
  return engine;
}

// Forgets the open files, because other files may have replaced them.
Status DecodedEngine::begin() {
  keep_written();
  writer_.reset();
  encoded_.reset();
  reading_ = std::make_unique<DataFileCache>(DataFileCache::Use::reading, writing_.mover());
  auto encoded = EncodedArray::create(array_, *reading_);
  if (!encoded) return encoded.error();
  encoded_.emplace(std::move(encoded).value());
  writer_ = std::make_unique<EncodedWriter>(array_.map, writing_, source_);
  slab_ = -1;
  written_.clear();
  return {};
}

// Enters the written chunks in the map, so that they are found when a chunk that was written in
// part is changed.
void DecodedEngine::keep_written() {
  if (!writer_) return;
  auto& chunks = std::get<EncodedChunks>(array_.map.extents);
  std::vector<EncodedTable::Entry> written = writer_->take_written();
  entered_.insert(entered_.end(), written.begin(), written.end());
  if (auto* const table = std::get_if<EncodedTable>(&chunks.places)) table->put(std::move(written));
}

Result<std::vector<EncodedTable::Entry>> DecodedEngine::take_written() {
  keep_written();
  const std::int64_t stored = std::exchange(stored_chunks_, 0);
  const std::int64_t stored_bytes = std::exchange(stored_bytes_, 0);
  std::vector<EncodedTable::Entry> entries = std::exchange(entered_, {});
  std::int64_t bytes = 0;
  for (const EncodedTable::Entry& one : entries) bytes += one.place.bytes;
  const bool in_table =
      std::holds_alternative<EncodedTable>(std::get<EncodedChunks>(array_.map.extents).places);
  if (in_table && (std::cmp_not_equal(entries.size(), stored) || bytes != stored_bytes)) {
    return invalid_argument(
        fmt::format("array \"{}\": {} encoded chunks of {} bytes were stored, and {} of {} bytes "
                    "have places; please report this line",
                    array_.description.name, stored, stored_bytes, entries.size(), bytes));
  }
  return entries;
}

Result<std::unique_ptr<EngineFile>> DecodedEngine::open(const std::string& path,
                                                        const Opening& opening) {
  if (!opening.direct) return std::unique_ptr<EngineFile>(std::make_unique<DecodedFile>(path));
  return Error(ErrorCode::unsupported, "encoded chunks are not moved past the page cache");
}

// Joins adjacent and overlapping ranges; most ranges follow each other.
void DecodedEngine::add_written(std::int64_t from, std::int64_t to) {
  if (!written_.empty() && from <= written_.back().second && from >= written_.back().first) {
    written_.back().second = std::max(written_.back().second, to);
    return;
  }
  if (!written_.empty() && from < written_.back().first) {
    std::erase_if(written_, [&](const auto& one) {
      if (one.second < from || one.first > to) return false;
      from = std::min(from, one.first);
      to = std::max(to, one.second);
      return true;
    });
  }
  const auto behind =
      std::upper_bound(written_.begin(), written_.end(), std::pair(from, to),
                       [](const auto& one, const auto& other) { return one.first < other.first; });
  written_.insert(behind, {from, to});
}

// Fails for bytes outside the array, which belong to no chunk: the caller then assumes different
// extents of the array.
Status DecodedEngine::is_in_array(std::int64_t slab) const {
  if (slabs_.has(slab)) return {};
  return invalid_argument(
      fmt::format("array \"{}\": bytes of slab {} of its decoded chunks, which lies outside the "
                  "array's extents",
                  array_.description.name, slab));
}

Status DecodedEngine::write_piece(std::int64_t slab, std::int64_t from,
                                  std::span<const std::byte> bytes) {
  if (Status inside = is_in_array(slab); !inside.ok()) return inside;
  if (slab != slab_ || written_.empty()) {
    if (Status flushed = flush(); !flushed.ok()) return flushed;
    if (Status room = make_room(elements_, slabs_.bytes()); !room.ok()) return room;
    slab_ = slab;
  }
  std::memcpy(elements_.get() + from, bytes.data(), bytes.size());
  add_written(from, from + static_cast<std::int64_t>(bytes.size()));
  const bool whole = written_.front() == std::pair(std::int64_t{0}, slabs_.bytes());
  return whole ? flush() : Status();
}

Status DecodedEngine::flush() {
  if (written_.empty()) return {};
  const std::int64_t slab = std::exchange(slab_, -1);
  std::vector<array::Box> boxes;
  for (const auto& [from, to] : std::exchange(written_, {})) {
    for (const array::Box& box : slabs_.boxes(from, to)) boxes.push_back(box);
  }
  struct Written {
    ChunkSlabs::Member member;
    bool whole = false;
  };
  std::vector<Written> chunks;
  bool in_part = false;
  std::int64_t without_chunk = 0;
  for (const ChunkSlabs::Member& member : slabs_.members(slab)) {
    std::int64_t elements = 0;
    for (const array::Box& box : boxes) {
      elements += array::intersect(box, member.inside).elements();
    }
    if (elements == 0) continue;
    without_chunk -= elements;
    chunks.push_back({member, elements == member.inside.elements()});
    in_part = in_part || !chunks.back().whole;
  }
  const array::Box inside = slabs_.inside(slab);
  for (const array::Box& box : boxes) without_chunk += array::intersect(box, inside).elements();
  if (without_chunk != 0) {
    return invalid_argument(
        fmt::format("array \"{}\": {} elements written into slab {} of its decoded chunks have no "
                    "chunk to go to",
                    array_.description.name, without_chunk, slab));
  }
  if (in_part) {
    // The rest of the chunk may have been written before, into files that replaced others.
    Status fresh = writer_->finish();
    if (fresh.ok()) fresh = begin();
    if (!fresh.ok()) return fresh;
  }
  for (const Written& one : chunks) {
    Status put = one.whole ? put_whole(one.member) : put_in_part(one.member, boxes);
    if (!put.ok()) return put;
  }
  return {};
}

// Stores a chunk all of whose existing elements are in the slab.
Status DecodedEngine::put_whole(const ChunkSlabs::Member& member) {
  const bool is_slab = slabs_.layout() == slabs_.chunk_layout();
  const bool clipped = member.clipped(slabs_.chunk_layout().extents());
  if (is_slab && !clipped) return put(member.chunk, slab_memory());
  if (Status room = make_room(chunk_memory_, encoded_->chunk_bytes()); !room.ok()) return room;
  if (clipped) encoded_->fill(chunk_memory());
  array::copy_box(member.inside.extent, elements_.get(), slabs_.layout(), member.inside.lower,
                  chunk_memory_.get(), slabs_.chunk_layout(), array::Indices(member.origin.size()));
  return put(member.chunk, chunk_memory());
}

// Stores a chunk of which the slab contains only the elements in `boxes`. The other elements are
// taken from the file.
Status DecodedEngine::put_in_part(const ChunkSlabs::Member& member,
                                  std::span<const array::Box> boxes) {
  if (Status room = make_room(chunk_memory_, encoded_->chunk_bytes()); !room.ok()) return room;
  bool there = false;
  if (Status read = encoded_->read(member.chunk, chunk_memory(), there); !read.ok()) return read;
  if (!there) encoded_->fill(chunk_memory());
  for (const array::Box& box : boxes) {
    const array::Box part = array::intersect(box, member.inside);
    if (part.empty()) continue;
    array::Indices in_chunk = part.lower;
    for (int d = 0; d < in_chunk.size(); ++d) in_chunk[d] -= member.origin[d];
    array::copy_box(part.extent, elements_.get(), slabs_.layout(), part.lower, chunk_memory_.get(),
                    slabs_.chunk_layout(), in_chunk);
  }
  return put(member.chunk, chunk_memory());
}

Status DecodedEngine::put(std::int64_t chunk, std::span<std::byte> elements) {
  const auto encoded = encoded_->encode(elements);
  if (!encoded) return encoded.error();
  ++traffic_.calls;
  traffic_.written += static_cast<std::int64_t>(encoded.value().bytes.size());
  Status put = writer_->put(chunk, encoded.value());
  if (put.ok()) {
    ++stored_chunks_;
    stored_bytes_ += static_cast<std::int64_t>(encoded.value().bytes.size());
  }
  return put;
}

Status DecodedEngine::read_slab(std::int64_t slab) {
  if (Status inside = is_in_array(slab); !inside.ok()) return inside;
  if (slab == slab_ && written_.empty()) return {};
  if (Status flushed = flush(); !flushed.ok()) return flushed;
  if (Status room = make_room(elements_, slabs_.bytes()); !room.ok()) return room;
  const bool is_slab = slabs_.layout() == slabs_.chunk_layout();
  if (Status room = is_slab ? Status() : make_room(chunk_memory_, encoded_->chunk_bytes());
      !room.ok()) {
    return room;
  }
  slab_ = -1;
  for (const ChunkSlabs::Member& member : slabs_.members(slab)) {
    const std::span<std::byte> elements = is_slab ? slab_memory() : chunk_memory();
    bool there = false;
    if (Status read = encoded_->read(member.chunk, elements, there); !read.ok()) return read;
    if (!there) encoded_->fill(elements);
    ++traffic_.calls;
    traffic_.read += there ? encoded_->chunk_bytes() : 0;
    if (is_slab) continue;
    array::copy_box(member.inside.extent, elements.data(), slabs_.chunk_layout(),
                    array::Indices(member.origin.size()), elements_.get(), slabs_.layout(),
                    member.inside.lower);
  }
  slab_ = slab;
  return {};
}

Status DecodedEngine::move(Direction direction, std::span<const FileRange> ranges,
                           FileTraffic& traffic) {
  const bool writing = direction == Direction::write;
  traffic_ = {};
  Status status;
  for (const FileRange& range : ranges) {
    if (!status.ok()) break;
    status = for_each_slab(
        range, slabs_.bytes(),
        [&](std::int64_t slab, std::int64_t from, std::byte* data, std::int64_t bytes) -> Status {
          Status moved = writing ? write_piece(slab, from, {data, static_cast<std::size_t>(bytes)})
                                 : read_slab(slab);
          if (!moved.ok()) return moved;
          if (!writing) {
            std::memcpy(data, elements_.get() + from, static_cast<std::size_t>(bytes));
          }
          traffic.moved += bytes;
          return {};
        });
  }
  traffic.calls += traffic_.calls;
  traffic.written += writing ? traffic_.written : 0;
  traffic.read += writing ? 0 : traffic_.read;
  return status;
}

Status DecodedEngine::make_durable(std::span<EngineFile* const> /*files*/,
                                   Durability /*durability*/) {
  return writing_.sync();
}

Status DecodedEngine::end() {
  Status status = flush();
  if (status.ok()) status = writer_->finish();
  Status closed = writing_.close_kept();
  if (status.ok()) status = std::move(closed);
  Status begun = begin();
  if (slabs_.layout() != slabs_.chunk_layout()) {  // large, and not needed before the next request
    elements_.reset();
    chunk_memory_.reset();
  }
  return status.ok() ? begun : status;
}

}  // namespace weir::storage
