// The encoded chunks of one array, read and written whole, in one process: what aggregators do for
// the chunks that are theirs, and readers without MPI for all.
//
// A chunk in memory is what it is in the file before encoding: packed in the map's order, in the
// extents that chunks are stored with, but with the numbers in the machine's byte order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/status.hpp"
#include "storage/codecs/chunk_coder.hpp"
#include "storage/encoded/decoded_chunks.hpp"
#include "storage/formats/format.hpp"
#include "storage/formats/zarr/shard_index.hpp"
#include "storage/serial/data_file_cache.hpp"

namespace weir::storage {

class EncodedArray {
 public:
  // For an array whose map is encoded; it and `files`, for reading, outlive the value. Fails when a
  // codec has no library here.
  static Result<EncodedArray> create(const StoredArray& array, DataFileCache& files);

  [[nodiscard]] std::int64_t chunk_bytes() const { return coder_.chunk_bytes(); }
  [[nodiscard]] std::int64_t most_encoded_bytes() const { return coder_.most_encoded_bytes(); }

  // Fills `elements`, of chunk_bytes(). `there` is false for a chunk that is in no file, which has
  // the fill value: `elements` are not touched then, which may be more than the file's makers ever
  // had. After an error, which names file and chunk, they hold anything.
  Status read(std::int64_t chunk, std::span<std::byte> elements, bool& there);
  // The chunk as `kept` has it, or decoded and left there. Null for one that is in no file.
  Result<std::shared_ptr<const DecodedChunk>> read_kept(std::int64_t chunk, DecodedChunks& kept);
  void fill(std::span<std::byte> elements) const;
  // One element, zeros where the array has no fill value.
  [[nodiscard]] const std::vector<std::byte>& fill_element() const { return fill_element_; }

  // The bytes to store for a chunk; valid until the next call or while `elements` are, whose byte
  // order may have been reversed.
  Result<EncodedChunk> encode(std::span<std::byte> elements);

 private:
  EncodedArray(const StoredArray& array, DataFileCache& files, ChunkCoder coder);
  struct Stored {
    EncodedPlace place;
    std::shared_ptr<const File> file;
  };
  // Nothing for a chunk that is in no file.
  [[nodiscard]] Result<std::optional<Stored>> find(std::int64_t chunk);
  [[nodiscard]] Result<std::optional<EncodedPlace>> place_of(std::int64_t chunk);
  Status decode(std::int64_t chunk, const Stored& stored, std::span<std::byte> elements);
  Status load(const Stored& stored, std::span<std::byte>& bytes);
  [[nodiscard]] Error with_chunk(Error error, std::int64_t chunk, const EncodedPlace& place) const;

  const StoredArray* array_;
  const EncodedChunks* chunks_;
  DataFileCache* files_;
  ChunkCoder coder_;
  std::int64_t swapped_together_;
  std::vector<std::byte> fill_element_;
  std::unique_ptr<std::byte[]> buffer_;  // what is read
  std::int64_t room_ = 0;
  // The index of the shard that was last read, as it was when that was opened: shards are replaced.
  std::shared_ptr<const File> shard_;
  ShardIndex shard_index_;
};

// The form of an array's chunks: the stored extents from the slowest dimension to the fastest.
[[nodiscard]] ChunkForm chunk_form(const ExtentMap& map);

// Writes a file of a single chunk so that readers see it whole or what was there before: under
// another name, then renamed. A chunk that was there may hold committed steps, so what replaces it
// is durable first; another one is so after files.sync().
Status write_chunk_file(const std::string& path, std::span<const std::byte> bytes,
                        DataFileCache& files);

// Ends the replacement of a chunk's or a shard's file in this way.
Status put_in_place(File& file, const std::string& path, DataFileCache& files);

}  // namespace weir::storage
