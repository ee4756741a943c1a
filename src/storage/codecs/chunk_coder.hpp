// Encodes and decodes the chunks of one array by its pipeline, in bounded memory: two buffers of at
// most what the worst chunk takes, kept from chunk to chunk.
//
// Decoders are told what a chunk decodes to and refuse everything else. One thread at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "storage/codecs/codec.hpp"
#include "storage/codecs/codec_steps.hpp"

namespace weir::storage {

struct EncodedChunk {
  std::span<const std::byte> bytes;
  // Bit i: codec i was not applied to this chunk. HDF5 stores that with the chunk ("filter mask");
  // only zfp without a header is ever skipped in encoding.
  std::uint32_t skipped = 0;
};

class ChunkCoder {
 public:
  // Fails as check_pipeline() does.
  static Result<ChunkCoder> create(Pipeline pipeline, const ChunkForm& form);

  [[nodiscard]] std::int64_t chunk_bytes() const { return most_.front(); }
  // Neither encoding nor honest files make more of a chunk; readers refuse longer ones before they
  // read them.
  [[nodiscard]] std::int64_t most_encoded_bytes() const { return most_.back(); }

  // `chunk` has chunk_bytes(). The result is valid until the next call or while `chunk` is.
  Result<EncodedChunk> encode(std::span<const std::byte> chunk);
  // Fills `chunk`, of chunk_bytes(). After an error it holds anything.
  Status decode(const EncodedChunk& encoded, std::span<std::byte> chunk);

 private:
  struct Buffer {
    std::unique_ptr<std::byte[]> bytes;
    std::int64_t room = 0;
  };

  ChunkCoder(Pipeline pipeline, const ChunkForm& form);
  Result<std::span<std::byte>> buffer(std::size_t which, std::int64_t bytes);

  Pipeline pipeline_;
  ChunkForm form_;
  std::vector<std::int64_t> most_;  // bytes before codec i, and at the end; first is exact
  std::array<Buffer, 2> buffers_;
  CodecContext context_;
};

}  // namespace weir::storage
