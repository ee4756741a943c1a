// An array in encoded chunks as if it were a file of plain ones, so that whoever moves pieces of
// chunked files moves those of encoded ones too.
//
//     write   pieces ─► slab in memory ─(whole, or another one begins, or end)─► encode ─► file
//     read    pieces ◄─ slab in memory ◄─ decode ◄─ file
//
// The file that there seems to be is ChunkSlabs::view(). Pieces of a slab come one after the other;
// one slab at a time is in memory. A chunk of which not all was written when the next slab begins
// is decoded, changed and encoded again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "storage/encoded/chunk_slabs.hpp"
#include "storage/encoded/encoded_array.hpp"
#include "storage/encoded/encoded_writer.hpp"
#include "storage/engines/engine.hpp"
#include "storage/formats/format.hpp"
#include "storage/serial/data_file_cache.hpp"

namespace weir::storage {

class DecodedEngine final : public Engine {
 public:
  // Fails as EncodedArray::create() does. `source`: where chunks go whose places are a table
  // (EncodedWriter); without it these are only read. `mover`: what moves encoded bytes; null: the
  // system. `closing`: of the files of chunks.
  static Result<std::unique_ptr<DecodedEngine>> create(
      StoredArray array, EncodedBlocks blocks, EncodedWriter::PlaceSource source = {},
      const std::shared_ptr<const SliceMover>& mover = nullptr,
      DataFileCache::Closing closing = DataFileCache::Closing::makes_durable);

  [[nodiscard]] std::string_view name() const override { return "decoded"; }
  [[nodiscard]] EngineAbilities abilities() const override { return {.in_file_system = false}; }
  Result<std::unique_ptr<EngineFile>> open(const std::string& path,
                                           const Opening& opening) override;
  Status write(std::span<const FileRange> ranges, FileTraffic& traffic) override;
  Status read(std::span<const FileRange> ranges, FileTraffic& traffic) override;
  Status sync(std::span<EngineFile* const> files) override;

  [[nodiscard]] const ChunkSlabs& slabs() const { return slabs_; }
  // No chunk takes more.
  [[nodiscard]] std::int64_t most_encoded_bytes() const { return encoded_->most_encoded_bytes(); }

  // After the last piece of a request, on every rank: what is in memory is in the file, and what
  // other processes wrote is seen from here on.
  Status end();
  void forget_losses() { writing_.forget_losses(); }
  // The chunks that got places in a table since the last call of this. This engine reads them.
  // Fails where they are not as many as were stored.
  [[nodiscard]] Result<std::vector<EncodedTable::Entry>> take_written();

 private:
  DecodedEngine(StoredArray array, const ChunkSlabs& slabs, EncodedWriter::PlaceSource source,
                const std::shared_ptr<const SliceMover>& mover, DataFileCache::Closing closing)
      : array_(std::move(array)),
        slabs_(slabs),
        source_(std::move(source)),
        writing_(DataFileCache::Use::writing, mover, closing) {}
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
  // Since take_written().
  std::int64_t stored_chunks_ = 0;
  std::int64_t stored_bytes_ = 0;
  std::unique_ptr<DataFileCache> reading_;
  DataFileCache writing_;
  std::optional<EncodedArray> encoded_;
  std::unique_ptr<EncodedWriter> writer_;
  // The slab in memory: decoded for reading, or being written with what of it was.
  std::unique_ptr<std::byte[]> elements_;
  std::unique_ptr<std::byte[]> chunk_memory_;  // one chunk, where slabs have several
  std::int64_t slab_ = -1;
  // From, to; ascending and apart; empty: for reading.
  std::vector<std::pair<std::int64_t, std::int64_t>> written_;
  FileTraffic traffic_;
};

}  // namespace weir::storage
