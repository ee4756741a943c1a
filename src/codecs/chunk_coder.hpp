// Encodes and decodes the chunks of one array by its pipeline, in bounded memory: two buffers, each
// as large as the worst chunk requires at most, which are reused for all chunks.
//
// Decoders know the length of a decoded chunk and reject everything else. Only one thread at a time
// may use a coder.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "codecs/codec.hpp"
#include "codecs/codec_steps.hpp"

namespace weir::storage {

struct EncodedChunk {
  std::span<const std::byte> bytes;
  // Bit i is set if codec i was not applied to this chunk. HDF5 stores these bits with the chunk
  // ("filter mask"). Encoding skips only zfp without a header.
  std::uint32_t skipped = 0;
};

class ChunkCoder {
 public:
  // Fails if check_pipeline() fails.
  static Result<ChunkCoder> create(Pipeline pipeline, const ChunkForm& form);

  [[nodiscard]] std::int64_t chunk_bytes() const { return most_.front(); }
  // Returns the maximum number of bytes of an encoded chunk, both of this encoder and of valid
  // files. Readers reject longer chunks before they read them.
  [[nodiscard]] std::int64_t most_encoded_bytes() const { return most_.back(); }

  // `chunk` has chunk_bytes(). The result is valid until the next call and while `chunk` is valid.
  Result<EncodedChunk> encode(std::span<const std::byte> chunk);
  // Fills `chunk`, which has chunk_bytes(). After an error, its contents are undefined.
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
  std::vector<std::int64_t> most_;  // maximum bytes before codec i and after the last; [0] is exact
  std::array<Buffer, 2> buffers_;
  CodecContext context_;
};

}  // namespace weir::storage
