#include "codecs/chunk_coder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <type_traits>

namespace weir::storage {
namespace {

Error not_the_size(std::int64_t is, std::int64_t should) {
  return Error(
      ErrorCode::corrupt,
      fmt::format("a chunk decodes to {} bytes instead of {}: the file is damaged", is, should));
}

bool skips(std::uint32_t skipped, std::size_t codec) { return (skipped >> codec & 1U) != 0; }

}  // namespace

ChunkCoder::ChunkCoder(Pipeline pipeline, const ChunkForm& form)
    : pipeline_(std::move(pipeline)), form_(form) {
  std::int64_t bytes = form_.type.bytes();  // the product below was checked for overflow
  for (const std::int64_t extent : form_.extents) bytes *= extent;
  most_.push_back(bytes);
  for (const Codec& codec : pipeline_) {
    // A codec may be skipped, so the length before it is also possible after it.
    most_.push_back(std::max(most_.back(), most_encoded(codec, most_.back(), form_)));
  }
}

Result<ChunkCoder> ChunkCoder::create(Pipeline pipeline, const ChunkForm& form) {
  if (Status fine = check_pipeline(pipeline, form); !fine.ok()) return fine.error();
  return ChunkCoder(std::move(pipeline), form);
}

Result<std::span<std::byte>> ChunkCoder::buffer(std::size_t which, std::int64_t bytes) {
  Buffer& one = buffers_.at(which);
  const auto size = static_cast<std::size_t>(bytes);
  if (one.room < bytes) {
    one.bytes.reset(new (std::nothrow) std::byte[size]);  // not filled: pages are allocated on use
    one.room = one.bytes ? bytes : 0;
  }
  if (one.bytes || bytes == 0) return std::span(one.bytes.get(), size);
  return Error(ErrorCode::insufficient,
               fmt::format("not enough memory for a chunk of {} bytes", bytes));
}

Result<EncodedChunk> ChunkCoder::encode(std::span<const std::byte> chunk) {
  if (static_cast<std::int64_t>(chunk.size()) != chunk_bytes()) {
    return invalid_argument(
        fmt::format("internal error: a chunk to encode has {} bytes instead of {}", chunk.size(),
                    chunk_bytes()));
  }
  EncodedChunk encoded{chunk, 0};
  const CodecStep step{form_, context_};
  std::size_t free = 0;  // the buffer that does not hold the bytes
  for (std::size_t i = 0; i < pipeline_.size(); ++i) {
    const auto to = buffer(free, most_[i + 1]);
    if (!to) return to.error();
    const auto bytes = std::visit(
        [&](const auto& codec) { return encode_step(codec, step, encoded.bytes, to.value()); },
        pipeline_[i]);
    if (!bytes) return bytes.error();
    if (bytes.value() < 0) {
      encoded.skipped |= 1U << i;
      continue;
    }
    encoded.bytes = to.value().first(static_cast<std::size_t>(bytes.value()));
    free = 1 - free;
  }
  return encoded;
}

Status ChunkCoder::decode(const EncodedChunk& encoded, std::span<std::byte> chunk) {
  if (static_cast<std::int64_t>(chunk.size()) != chunk_bytes()) {
    return invalid_argument(
        fmt::format("internal error: there is room for {} bytes, but a chunk has {}", chunk.size(),
                    chunk_bytes()));
  }
  ConstBytes bytes = encoded.bytes;
  const CodecStep step{form_, context_};
  std::size_t free = 0;
  std::size_t last = 0;  // the codec whose output is the chunk
  while (last < pipeline_.size() && skips(encoded.skipped, last)) ++last;
  for (std::size_t i = pipeline_.size(); i-- > last;) {
    if (skips(encoded.skipped, i)) continue;
    Bytes to = chunk;
    if (i != last) {
      const auto room = buffer(std::exchange(free, 1 - free), most_[i]);
      if (!room) return room.error();
      to = room.value();
    }
    const auto decoded = std::visit(
        [&](const auto& codec) { return decode_step(codec, step, bytes, to); }, pipeline_[i]);
    if (!decoded) return decoded.error();
    bytes = to.first(static_cast<std::size_t>(decoded.value()));
  }
  if (bytes.size() != chunk.size()) {
    return not_the_size(static_cast<std::int64_t>(bytes.size()), chunk_bytes());
  }
  if (last == pipeline_.size() && !chunk.empty()) {
    std::memcpy(chunk.data(), bytes.data(), chunk.size());
  }
  return {};
}

}  // namespace weir::storage
