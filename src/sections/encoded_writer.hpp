// Writes the bytes of encoded chunks: to one file for each chunk, to shards, or to places in one
// file that are later entered in its header (Format::enter_chunks()).
//
// Several processes may write chunks of one array at the same time if no two of them write to the
// same chunk or the same shard.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "codecs/chunk_coder.hpp"
#include "common/status.hpp"
#include "engines/data_file_cache.hpp"
#include "sections/shard_index.hpp"
#include "stored/extent_map.hpp"
#include "system/file.hpp"

namespace weir::storage {

class EncodedWriter {
 public:
  // Returns the offset in file 0 of `bytes` bytes that no other chunk uses.
  using PlaceSource = std::function<Result<std::int64_t>(std::int64_t bytes)>;

  // The map is encoded; `files` is for writing. Both must outlive this object. `source` is only for
  // maps with a table. Written data is durable after finish() and files.sync().
  EncodedWriter(const ExtentMap& map, DataFileCache& files, PlaceSource source = {});
  EncodedWriter(const EncodedWriter&) = delete;
  EncodedWriter& operator=(const EncodedWriter&) = delete;
  ~EncodedWriter();

  Status put(std::int64_t chunk, const EncodedChunk& encoded);
  // Called after the last chunk. Completes the shards. Readers see each shard either in its
  // previous state or complete.
  Status finish();
  // Returns the chunks that got places in a table since the last call of this function.
  [[nodiscard]] std::vector<EncodedTable::Entry> take_written();

 private:
  // A shard that is being written under a temporary name.
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
