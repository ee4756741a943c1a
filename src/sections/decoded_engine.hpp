// An engine that presents an array in encoded chunks as a file of plain chunks, so that functions
// that move pieces of chunked files can also move pieces of encoded arrays.
//
// clang-format off
//     write   pieces ─► slab in memory ─(complete, or the next begins, or end)─► encode ─► file
//     read    pieces ◄─ slab in memory ◄─ decode ◄─ file
// clang-format on
//
// ChunkSlabs::view() describes the presented file. Pieces of a slab are moved one after the other,
// and only one slab is in memory at a time. If only a part of a chunk was written when the next
// slab begins, the chunk is decoded, changed and encoded again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "engines/blocking_engine.hpp"
#include "engines/data_file_cache.hpp"
#include "sections/chunk_slabs.hpp"
#include "sections/encoded_array.hpp"
#include "sections/encoded_writer.hpp"
#include "stored/file_map.hpp"

namespace weir::storage {

class DecodedEngine final : public BlockingEngine {
 public:
  // Fails if EncodedArray::create() fails. `source` gives places to chunks whose places are a table
  // (EncodedWriter); without it, such chunks can only be read. `mover` moves encoded bytes; if it
  // is null, the system does. `closing` applies to the files of chunks.
  static Result<std::unique_ptr<DecodedEngine>> create(
      StoredArray array, EncodedBlocks blocks, EncodedWriter::PlaceSource source = {},
      const std::shared_ptr<const SliceMover>& mover = nullptr,
      DataFileCache::Closing closing = DataFileCache::Closing::makes_durable);

  [[nodiscard]] std::string_view name() const override { return "decoded"; }
  [[nodiscard]] EngineAbilities abilities() const override { return {.in_file_system = false}; }
  Result<std::unique_ptr<EngineFile>> open(const std::string& path,
                                           const Opening& opening) override;

  [[nodiscard]] const ChunkSlabs& slabs() const { return slabs_; }
  // Returns the maximum number of bytes of an encoded chunk.
  [[nodiscard]] std::int64_t most_encoded_bytes() const { return encoded_->most_encoded_bytes(); }

  // Called after the last piece of a request, on every rank. Writes the slab in memory to the file;
  // later reads see the data that other processes wrote.
  Status end();
  void forget_losses() { writing_.forget_losses(); }
  // Returns the chunks that got places in a table since the last call of this function. This engine
  // reads them. Fails if their number differs from that of the stored chunks.
  [[nodiscard]] Result<std::vector<EncodedTable::Entry>> take_written();

 private:
  DecodedEngine(StoredArray array, const ChunkSlabs& slabs, EncodedWriter::PlaceSource source,
                const std::shared_ptr<const SliceMover>& mover, DataFileCache::Closing closing)
      : array_(std::move(array)),
        slabs_(slabs),
        source_(std::move(source)),
        writing_(DataFileCache::Use::writing, mover, closing) {}
  Status move(Direction direction, std::span<const FileRange> ranges,
              FileTraffic& traffic) override;
  Status make_durable(std::span<EngineFile* const> files, Durability durability) override;
  Status begin();
  void keep_written();
  void add_written(std::int64_t from, std::int64_t to);
  [[nodiscard]] Status is_in_array(std::int64_t slab) const;
  Status write_piece(std::int64_t slab, std::int64_t from, std::span<const std::byte> bytes);
  Status flush();
  Status put_whole(const ChunkSlabs::Member& member);
  Status put_in_part(const ChunkSlabs::Member& member, std::span<const array::Box> boxes);
  Status put(std::int64_t chunk, std::span<std::byte> elements);
  Status read_slab(std::int64_t slab);
  [[nodiscard]] std::span<std::byte> slab_memory() const {
    return {elements_.get(), static_cast<std::size_t>(slabs_.bytes())};
  }
  [[nodiscard]] std::span<std::byte> chunk_memory() const {
    return {chunk_memory_.get(), static_cast<std::size_t>(encoded_->chunk_bytes())};
  }

  StoredArray array_;
  ChunkSlabs slabs_;
  EncodedWriter::PlaceSource source_;
  std::vector<EncodedTable::Entry> entered_;
  // Chunks and bytes stored since take_written().
  std::int64_t stored_chunks_ = 0;
  std::int64_t stored_bytes_ = 0;
  std::unique_ptr<DataFileCache> reading_;
  DataFileCache writing_;
  std::optional<EncodedArray> encoded_;
  std::unique_ptr<EncodedWriter> writer_;
  // The slab in memory: decoded for reading, or partly written.
  std::unique_ptr<std::byte[]> elements_;
  std::unique_ptr<std::byte[]> chunk_memory_;  // one chunk, if slabs have several chunks
  std::int64_t slab_ = -1;
  // Written ranges [from, to) of the slab, ascending and not adjacent. Empty if the slab is for
  // reading.
  std::vector<std::pair<std::int64_t, std::int64_t>> written_;
  FileTraffic traffic_;
};

}  // namespace weir::storage
