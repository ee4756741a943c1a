#include "storage/encoded/decoded_engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "common/checked.hpp"

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
  Error error = invalid_argument(fmt::format("no memory for a chunk of {} bytes", count));
  error.code = ErrorCode::insufficient;
  return error;
}

// Calls piece(chunk, from, data, bytes) for what a range has of each chunk.
template <typename Piece>
Status for_each_chunk(const FileRange& range, std::int64_t chunk_bytes, const Piece& piece) {
  std::int64_t offset = range.offset;
  for (const Slice& slice : range.slices) {
    for (std::int64_t done = 0; done < slice.bytes;) {
      const std::int64_t from = offset % chunk_bytes;
      const std::int64_t bytes = std::min(slice.bytes - done, chunk_bytes - from);
      Status status = piece(offset / chunk_bytes, from, slice.data + done, bytes);
      if (!status.ok()) return status;
      done += bytes;
      offset += bytes;
    }
  }
  return {};
}

}  // namespace

Result<ExtentMap> decoded_view(const ExtentMap& map, const std::string& path) {
  const EncodedChunks& chunks = *map.encoded();
  const auto slot = bytes_of(chunks.stored_extents, map.type);
  if (!slot || !checked_multiply(*slot, std::max<std::int64_t>(1, chunks.grid.chunks()))) {
    return invalid_argument("its chunks do not fit into 63 bits");
  }
  ExtentMap view{.shape = map.shape,
                 .type = map.type,
                 .order = map.order,
                 .files = DataFiles::one(path),
                 .extents = {}};
  view.extents = ChunkExtents{chunks.grid, chunks.stored_extents, SlotsInTurn{1, 0, *slot}};
  return view;
}

Result<std::unique_ptr<DecodedEngine>> DecodedEngine::create(StoredArray array,
                                                             EncodedWriter::PlaceSource source) {
  std::unique_ptr<DecodedEngine> engine(new DecodedEngine(std::move(array), std::move(source)));
  if (Status begun = engine->begin(); !begun.ok()) return begun.error();
  return engine;
}

// Files that are open are forgotten: others may have been put in their place.
Status DecodedEngine::begin() {
  keep_written();
  writer_.reset();
  encoded_.reset();
  reading_ = std::make_unique<DataFileCache>(DataFileCache::Use::reading);
  auto encoded = EncodedArray::create(array_, *reading_);
  if (!encoded) return encoded.error();
  encoded_.emplace(std::move(encoded).value());
  writer_ = std::make_unique<EncodedWriter>(array_.map, writing_, false, source_);
  chunk_bytes_ = encoded_->chunk_bytes();
  chunk_ = -1;
  written_.clear();
  return {};
}

// What was written is found from here on, when a chunk is changed that has been written in part.
void DecodedEngine::keep_written() {
  if (!writer_) return;
  auto& chunks = std::get<EncodedChunks>(array_.map.extents);
  for (const EncodedTable::Entry& one : writer_->take_written()) {
    if (auto* const table = std::get_if<EncodedTable>(&chunks.places)) {
      table->set(one.chunk, one.place);
    }
    entered_.push_back(one);
  }
}

std::vector<EncodedTable::Entry> DecodedEngine::take_written() {
  keep_written();
  return std::exchange(entered_, {});
}

Result<std::unique_ptr<EngineFile>> DecodedEngine::open(const std::string& path,
                                                        const Opening& opening) {
  if (!opening.direct) return std::unique_ptr<EngineFile>(std::make_unique<DecodedFile>(path));
  Error error = invalid_argument("encoded chunks are not moved past the page cache");
  error.code = ErrorCode::unsupported;
  return error;
}

std::int64_t DecodedEngine::bytes_written() const {
  std::int64_t bytes = 0;
  for (const auto& [from, to] : written_) bytes += to - from;
  return bytes;
}

Status DecodedEngine::write_piece(std::int64_t chunk, std::int64_t from,
                                  std::span<const std::byte> bytes) {
  if (chunk != chunk_ || written_.empty()) {
    if (Status flushed = flush(); !flushed.ok()) return flushed;
    if (Status room = make_room(elements_, chunk_bytes_); !room.ok()) return room;
    chunk_ = chunk;
  }
  std::memcpy(elements_.get() + from, bytes.data(), bytes.size());
  std::int64_t to = from + static_cast<std::int64_t>(bytes.size());
  // Ranges that touch or overlap become one.
  std::erase_if(written_, [&](const auto& one) {
    if (one.second < from || one.first > to) return false;
    from = std::min(from, one.first);
    to = std::max(to, one.second);
    return true;
  });
  written_.emplace_back(from, to);
  return bytes_written() == chunk_bytes_ ? flush() : Status();
}

Status DecodedEngine::flush() {
  if (written_.empty()) return {};
  const auto size = static_cast<std::size_t>(chunk_bytes_);
  const std::int64_t chunk = chunk_;
  std::span<std::byte> elements(elements_.get(), size);
  if (bytes_written() < chunk_bytes_) {
    if (Status room = make_room(before_, chunk_bytes_); !room.ok()) return room;
    // Parts of it may have been written before, into files that replaced others since.
    const auto parts = written_;
    Status fresh = writer_->finish();
    if (fresh.ok()) fresh = begin();
    if (!fresh.ok()) return fresh;
    const std::span<std::byte> before(before_.get(), size);
    bool there = false;
    if (Status read = encoded_->read(chunk, before, there); !read.ok()) return read;
    if (!there) encoded_->fill(before);
    for (const auto& [from, to] : parts) {
      std::memcpy(before.data() + from, elements.data() + from,
                  static_cast<std::size_t>(to - from));
    }
    elements = before;
  }
  chunk_ = -1;
  written_.clear();
  const auto encoded = encoded_->encode(elements);
  if (!encoded) return encoded.error();
  ++traffic_.calls;
  traffic_.written += static_cast<std::int64_t>(encoded.value().bytes.size());
  return writer_->put(chunk, encoded.value());
}

Status DecodedEngine::read_chunk(std::int64_t chunk) {
  if (chunk == chunk_ && written_.empty()) return {};
  if (Status flushed = flush(); !flushed.ok()) return flushed;
  if (Status room = make_room(elements_, chunk_bytes_); !room.ok()) return room;
  const std::span<std::byte> elements(elements_.get(), static_cast<std::size_t>(chunk_bytes_));
  chunk_ = -1;
  bool there = false;
  if (Status read = encoded_->read(chunk, elements, there); !read.ok()) return read;
  if (!there) encoded_->fill(elements);
  ++traffic_.calls;
  traffic_.read += there ? chunk_bytes_ : 0;
  chunk_ = chunk;
  return {};
}

Status DecodedEngine::write(std::span<const FileRange> ranges, FileTraffic& traffic) {
  traffic_ = {};
  Status status;
  for (const FileRange& range : ranges) {
    if (!status.ok()) break;
    status = for_each_chunk(
        range, chunk_bytes_,
        [&](std::int64_t chunk, std::int64_t from, std::byte* data, std::int64_t bytes) {
          return write_piece(chunk, from, {data, static_cast<std::size_t>(bytes)});
        });
  }
  traffic.calls += traffic_.calls;
  traffic.written += traffic_.written;
  return status;
}

Status DecodedEngine::read(std::span<const FileRange> ranges, FileTraffic& traffic) {
  traffic_ = {};
  Status status;
  for (const FileRange& range : ranges) {
    if (!status.ok()) break;
    status = for_each_chunk(
        range, chunk_bytes_,
        [&](std::int64_t chunk, std::int64_t from, std::byte* data, std::int64_t bytes) -> Status {
          if (Status read = read_chunk(chunk); !read.ok()) return read;
          std::memcpy(data, elements_.get() + from, static_cast<std::size_t>(bytes));
          return {};
        });
  }
  traffic.calls += traffic_.calls;
  traffic.read += traffic_.read;
  return status;
}

Status DecodedEngine::sync(std::span<EngineFile* const> /*files*/) { return writing_.sync(); }

Status DecodedEngine::end() {
  Status status = flush();
  if (status.ok()) status = writer_->finish();
  Status begun = begin();
  return status.ok() ? begun : status;
}

}  // namespace weir::storage
