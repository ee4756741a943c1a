// Decoded chunks that reads of sections leave for the next ones: whoever reads an array row by row
// would otherwise decode a chunk once for each of its rows.
//
// A chunk is kept with the state that its file had before it was read (sums/file_state.hpp), and is
// given to those alone who find the file in that state: bytes that were replaced or changed
// meanwhile are decoded anew. Chunks that were read longest ago go first.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "common/status.hpp"
#include "storage/sums/file_state.hpp"

namespace weir::storage {

// The elements of one chunk, packed as EncodedArray has them.
class DecodedChunk {
 public:
  // Fails where there is no memory for so many bytes.
  static Result<std::shared_ptr<DecodedChunk>> make(std::int64_t bytes);

  [[nodiscard]] std::span<std::byte> elements() { return {data_.get(), bytes_}; }
  [[nodiscard]] std::span<const std::byte> elements() const { return {data_.get(), bytes_}; }

 private:
  explicit DecodedChunk(std::int64_t bytes);

  std::size_t bytes_;
  std::unique_ptr<std::byte[]> data_;  // not filled
};

// Safe for threads.
class DecodedChunks {
 public:
  // Bytes of the chunks that are kept together, where nobody sets another number.
  static constexpr std::int64_t most_kept_bytes = std::int64_t{64} << 20;

  // Where the encoded bytes begin, and which array they belong to.
  struct Key {
    std::string path;
    std::int64_t offset = 0;
    std::string array;
    friend auto operator<=>(const Key&, const Key&) = default;
  };

  explicit DecodedChunks(std::int64_t most_bytes = most_kept_bytes) : most_bytes_(most_bytes) {}

  // From here on at most so many bytes are kept; 0: none.
  void set_most_bytes(std::int64_t bytes);
  // Whether a chunk of so many bytes would be kept.
  [[nodiscard]] bool takes(std::int64_t bytes);

  // Null where the chunk is not kept, or was read when its file was in another state.
  [[nodiscard]] std::shared_ptr<const DecodedChunk> find(const Key& key, const FileState& state);
  // `state`: of the file before the chunk was read.
  void keep(Key key, const FileState& state, std::shared_ptr<const DecodedChunk> chunk);

  // Bytes that are kept, with what each chunk takes besides its elements.
  [[nodiscard]] std::int64_t bytes();

 private:
  struct Entry {
    Key key;
    FileState state;
    std::shared_ptr<const DecodedChunk> chunk;
  };
  using Entries = std::list<Entry>;

  // Call these two under the mutex.
  void drop(Entries::iterator entry);
  void drop_beyond(std::int64_t bytes);

  std::mutex mutex_;
  std::int64_t most_bytes_;
  std::int64_t bytes_ = 0;
  Entries entries_;  // the one that was used last first
  std::map<Key, Entries::iterator> by_key_;
};

}  // namespace weir::storage
