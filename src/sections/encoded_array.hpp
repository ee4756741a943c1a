// Reads and writes whole encoded chunks of one array, in one process. Aggregators use it for their
// own chunks, and readers without MPI use it for all chunks.
//
// A chunk in memory has the form that it has in the file before encoding: packed in the map's
// order, in the stored extents of chunks, but with numbers in the machine's byte order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "codecs/chunk_coder.hpp"
#include "common/status.hpp"
#include "engines/data_file_cache.hpp"
#include "sections/decoded_chunks.hpp"
#include "sections/shard_index.hpp"
#include "stored/file_map.hpp"

namespace weir::storage {

class EncodedArray {
 public:
  // The array's map is encoded; `files` is for reading. Both must outlive the result. Fails if this
  // build lacks the library of a codec.
  static Result<EncodedArray> create(const StoredArray& array, DataFileCache& files);

  [[nodiscard]] std::int64_t chunk_bytes() const { return coder_.chunk_bytes(); }
  [[nodiscard]] std::int64_t most_encoded_bytes() const { return coder_.most_encoded_bytes(); }

  // Fills `elements`, which has chunk_bytes(). If the chunk is in no file and thus has the fill
  // value, sets `there` to false and does not touch `elements`, which may be larger than anything
  // that was ever written to the file. After an error, which names the file and the chunk, the
  // contents of `elements` are undefined.
  Status read(std::int64_t chunk, std::span<std::byte> elements, bool& there);
  // Returns the chunk from `kept`, or decodes it and keeps it there. Returns null if the chunk is
  // in no file.
  Result<std::shared_ptr<const DecodedChunk>> read_kept(std::int64_t chunk, DecodedChunks& kept);
  void fill(std::span<std::byte> elements) const;
  // Returns one element with the fill value, or zeros if the array has none.
  [[nodiscard]] const std::vector<std::byte>& fill_element() const { return fill_element_; }

  // Returns the bytes to be stored for a chunk. They are valid until the next call and while
  // `elements` is valid. The byte order of `elements` may be reversed.
  Result<EncodedChunk> encode(std::span<std::byte> elements);

 private:
  EncodedArray(const StoredArray& array, DataFileCache& files, ChunkCoder coder);
  struct Stored {
    EncodedPlace place;
    std::shared_ptr<const File> file;
  };
  // Returns nothing for a chunk that is in no file.
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
  std::unique_ptr<std::byte[]> buffer_;  // encoded bytes that are read
  std::int64_t room_ = 0;
  // The last shard that was read, and its index when it was opened. The file stays open because
  // shards may be replaced.
  std::shared_ptr<const File> shard_;
  ShardIndex shard_index_;
};

// Returns the form of an array's chunks: the stored extents from the slowest dimension to the
// fastest.
[[nodiscard]] ChunkForm chunk_form(const ExtentMap& map);

// Writes a file of a single chunk under a temporary name and then renames it, so that readers see
// either the complete chunk or the previous file. A previous chunk may contain committed steps, so
// its replacement is made durable first. A new chunk is durable after files.sync().
Status write_chunk_file(const std::string& path, std::span<const std::byte> bytes,
                        DataFileCache& files);

// Completes such a replacement of the file of a chunk or a shard.
Status put_in_place(File& file, const std::string& path, DataFileCache& files);

}  // namespace weir::storage
