// An array in encoded chunks as if it were a file of plain ones, so that whoever moves pieces of
// chunked files moves those of encoded ones too.
//
//     write   pieces ─► chunk in memory ─(whole, or another one begins, or end)─► encode ─► file
//     read    pieces ◄─ chunk in memory ◄─ decode ◄─ file
//
// The file that there seems to be has chunk c of the stored extents in slot c, little-endian.
// Pieces of a chunk come one after the other; one chunk at a time is in memory. A chunk of which
// not all was written when the next one begins is decoded, changed and encoded again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "storage/encoded/encoded_array.hpp"
#include "storage/encoded/encoded_writer.hpp"
#include "storage/engines/engine.hpp"
#include "storage/formats/format.hpp"
#include "storage/serial/data_file_cache.hpp"

namespace weir::storage {

// The map of the file that there seems to be, of that path. Of another array nothing else may have
// the path. The map is encoded.
[[nodiscard]] Result<ExtentMap> decoded_view(const ExtentMap& map, const std::string& path);

class DecodedEngine final : public Engine {
 public:
  // Fails as EncodedArray::create() does. `source`: where chunks go whose places are a table
  // (EncodedWriter); without it these are only read.
  static Result<std::unique_ptr<DecodedEngine>> create(StoredArray array,
                                                       EncodedWriter::PlaceSource source = {});

  [[nodiscard]] std::string_view name() const override { return "decoded"; }
  [[nodiscard]] EngineAbilities abilities() const override { return {.in_file_system = false}; }
  Result<std::unique_ptr<EngineFile>> open(const std::string& path,
                                           const Opening& opening) override;
  Status write(std::span<const FileRange> ranges, FileTraffic& traffic) override;
  Status read(std::span<const FileRange> ranges, FileTraffic& traffic) override;
  Status sync(std::span<EngineFile* const> files) override;

  // No chunk takes more.
  [[nodiscard]] std::int64_t most_encoded_bytes() const { return encoded_->most_encoded_bytes(); }

  // After the last piece of a request, on every rank: what is in memory is in the file, and what
  // other processes wrote is seen from here on.
  Status end();
  // The chunks that got places in a table since the last call of this. This engine reads them.
  [[nodiscard]] std::vector<EncodedTable::Entry> take_written();

 private:
  DecodedEngine(StoredArray array, EncodedWriter::PlaceSource source)
      : array_(std::move(array)), source_(std::move(source)) {}
  Status begin();
  void keep_written();
  Status write_piece(std::int64_t chunk, std::int64_t from, std::span<const std::byte> bytes);
  Status flush();
  Status read_chunk(std::int64_t chunk);
  [[nodiscard]] std::int64_t bytes_written() const;

  StoredArray array_;
  EncodedWriter::PlaceSource source_;
  std::vector<EncodedTable::Entry> entered_;
  std::unique_ptr<DataFileCache> reading_;
  DataFileCache writing_{DataFileCache::Use::writing};
  std::optional<EncodedArray> encoded_;
  std::unique_ptr<EncodedWriter> writer_;
  std::int64_t chunk_bytes_ = 0;
  // The chunk in memory: decoded for reading, or being written with what of it was.
  std::unique_ptr<std::byte[]> elements_;
  std::unique_ptr<std::byte[]> before_;  // what the file holds of a chunk that is written in part
  std::int64_t chunk_ = -1;
  std::vector<std::pair<std::int64_t, std::int64_t>> written_;  // from, to; empty: for reading
  FileTraffic traffic_;
};

}  // namespace weir::storage
