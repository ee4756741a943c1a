#include "sections/decoded_chunks.hpp"

#include <fmt/format.h>

#include <new>
#include <utility>

namespace weir::storage {
namespace {

// The overhead of an entry: its key twice, its nodes and its counts. It counts so that the memory
// for many small chunks is limited, too.
constexpr std::int64_t bytes_of_entry = 512;

std::int64_t bytes_with(const DecodedChunk& chunk) {
  return static_cast<std::int64_t>(chunk.elements().size()) + bytes_of_entry;
}

}  // namespace

DecodedChunk::DecodedChunk(std::int64_t bytes)
    : bytes_(static_cast<std::size_t>(bytes)), data_(new (std::nothrow) std::byte[bytes_]) {}

Result<std::shared_ptr<DecodedChunk>> DecodedChunk::make(std::int64_t bytes) {
  auto made = std::shared_ptr<DecodedChunk>(new DecodedChunk(bytes));
  if (made->data_) return made;
  return Error(ErrorCode::insufficient, fmt::format("no memory for a chunk of {} bytes", bytes));
}

void DecodedChunks::set_most_bytes(std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  most_bytes_ = bytes;
  drop_beyond(most_bytes_);
}

bool DecodedChunks::takes(std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  return bytes <= most_bytes_ - bytes_of_entry;
}

std::shared_ptr<const DecodedChunk> DecodedChunks::find(const Key& key, const FileState& state) {
  const std::lock_guard lock(mutex_);
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return nullptr;
  const Entries::iterator entry = found->second;
  if (entry->state != state) {
    drop(entry);
    return nullptr;
  }
  entries_.splice(entries_.begin(), entries_, entry);
  return entry->chunk;
}

void DecodedChunks::keep(Key key, const FileState& state,
                         std::shared_ptr<const DecodedChunk> chunk) {
  const std::int64_t bytes = bytes_with(*chunk);
  const std::lock_guard lock(mutex_);
  if (const auto found = by_key_.find(key); found != by_key_.end()) drop(found->second);
  if (bytes > most_bytes_) return;
  drop_beyond(most_bytes_ - bytes);
  entries_.push_front({key, state, std::move(chunk)});
  by_key_.emplace(std::move(key), entries_.begin());
  bytes_ += bytes;
}

std::int64_t DecodedChunks::bytes() {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

void DecodedChunks::drop(Entries::iterator entry) {
  bytes_ -= bytes_with(*entry->chunk);
  by_key_.erase(entry->key);
  entries_.erase(entry);
}

void DecodedChunks::drop_beyond(std::int64_t bytes) {
  while (bytes_ > bytes && !entries_.empty()) drop(std::prev(entries_.end()));
}

}  // namespace weir::storage
