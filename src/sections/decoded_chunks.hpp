// A cache of decoded chunks for reads of sections. Without it, a program that reads an array row by
// row would decode a chunk once for each of its rows.
//
// A chunk is kept with the state that its file had before it was read (sums/file_state.hpp). It is
// used only if the file is still in that state; otherwise the chunk is decoded again. The least
// recently used chunks are dropped first.
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

#include "checksums/file_state.hpp"
#include "common/status.hpp"

namespace weir::storage {

// The elements of one chunk, packed like those of EncodedArray.
class DecodedChunk {
 public:
  // Fails if there is not enough memory for `bytes` bytes.
  static Result<std::shared_ptr<DecodedChunk>> make(std::int64_t bytes);

  [[nodiscard]] std::span<std::byte> elements() { return {data_.get(), bytes_}; }
  [[nodiscard]] std::span<const std::byte> elements() const { return {data_.get(), bytes_}; }

 private:
  explicit DecodedChunk(std::int64_t bytes);

  std::size_t bytes_;
  std::unique_ptr<std::byte[]> data_;  // initially not filled
};

// The class is thread-safe.
class DecodedChunks {
 public:
  // Default limit of the total bytes of the chunks that are kept.
  static constexpr std::int64_t most_kept_bytes = std::int64_t{64} << 20;

  // Identifies a chunk by the place where its encoded bytes begin and by its array.
  struct Key {
    std::string path;
    std::int64_t offset = 0;
    std::string array;
    friend auto operator<=>(const Key&, const Key&) = default;
  };

  explicit DecodedChunks(std::int64_t most_bytes = most_kept_bytes) : most_bytes_(most_bytes) {}

  // Sets the limit of bytes that are kept; 0 means that no chunk is kept.
  void set_most_bytes(std::int64_t bytes);
  // Returns whether a chunk of `bytes` bytes would be kept.
  [[nodiscard]] bool takes(std::int64_t bytes);

  // Returns the chunk, or null if it is not kept or was read when its file was in a different
  // state.
  [[nodiscard]] std::shared_ptr<const DecodedChunk> find(const Key& key, const FileState& state);
  // Keeps a chunk. `state` is the state of the file before the chunk was read.
  void keep(Key key, const FileState& state, std::shared_ptr<const DecodedChunk> chunk);

  // Returns the number of bytes that are kept, including the overhead of each chunk.
  [[nodiscard]] std::int64_t bytes();

 private:
  struct Entry {
    Key key;
    FileState state;
    std::shared_ptr<const DecodedChunk> chunk;
  };
  using Entries = std::list<Entry>;

  // The caller of these two functions holds the mutex.
  void drop(Entries::iterator entry);
  void drop_beyond(std::int64_t bytes);

  std::mutex mutex_;
  std::int64_t most_bytes_;
  std::int64_t bytes_ = 0;
  Entries entries_;  // the most recently used first
  std::map<Key, Entries::iterator> by_key_;
};

}  // namespace weir::storage
