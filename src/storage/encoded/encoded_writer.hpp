// Where the bytes of encoded chunks go: a file each, shards, or places in one file that its header
// is told of later (Format::enter_chunks()).
//
// Several processes may write chunks of one array at the same time, if no two write to one chunk,
// or to one shard.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/status.hpp"
#include "storage/codecs/chunk_coder.hpp"
#include "storage/engines/file.hpp"
#include "storage/formats/extent_map.hpp"
#include "storage/formats/zarr/shard_index.hpp"
#include "storage/serial/data_file_cache.hpp"

namespace weir::storage {

class EncodedWriter {
 public:
  // The offset of so many bytes of file 0 that nobody else has.
  using PlaceSource = std::function<Result<std::int64_t>(std::int64_t bytes)>;

  // The map, which is encoded, and `files`, for writing, outlive the value. `source` is only for
  // maps with a table. What is written is durable after finish() and files.sync().
  EncodedWriter(const ExtentMap& map, DataFileCache& files, PlaceSource source = {});
  EncodedWriter(const EncodedWriter&) = delete;
  EncodedWriter& operator=(const EncodedWriter&) = delete;
  ~EncodedWriter();

  Status put(std::int64_t chunk, const EncodedChunk& encoded);
  // After the last chunk: shards are complete from here on. Each is seen as it was before, or
  // whole.
  Status finish();
  // The chunks that have places in a table since the last call of this.
  [[nodiscard]] std::vector<EncodedTable::Entry> take_written();

 private:
  // A shard that is being written under another name.
  struct Shard {
    File file;
    ShardIndex index;
    std::int64_t end = 0;
  };
  Status put_in_shard(const EncodedShards& shards, std::int64_t chunk, ConstBytes bytes);
  Status begin_shard(const EncodedShards& shards, std::int64_t number);
  Status finish_shard(const EncodedShards& shards, std::int64_t number, Shard& shard);

  const ExtentMap& map_;
  const EncodedChunks& chunks_;
  DataFileCache& files_;
  PlaceSource source_;
  std::map<std::int64_t, Shard> shards_;
  std::vector<EncodedTable::Entry> written_;
};

}  // namespace weir::storage
