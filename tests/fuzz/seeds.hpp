// Good bytes for each reader, made by Weir itself: what a fuzzer begins with.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codecs/codec.hpp"
#include "readers.hpp"
#include "stored/file_description.hpp"

namespace weir::fuzz {

// An array of two shards of two chunks.
[[nodiscard]] storage::ArrayDescription shards_description();
// Returns what the first byte of the codec reader's input chooses from; some may not be in this
// build.
[[nodiscard]] std::span<const std::string_view> codec_pipelines();
[[nodiscard]] storage::ChunkForm codec_chunk();

std::vector<Bytes> cdf_seeds(const std::string& folder);
std::vector<Bytes> codec_seeds(const std::string& folder);
std::vector<Bytes> conversation_seeds(const std::string& folder);
std::vector<Bytes> frame_seeds(const std::string& folder);
std::vector<Bytes> hdf5_seeds(const std::string& folder);
std::vector<Bytes> journal_seeds(const std::string& folder);
std::vector<Bytes> message_seeds(const std::string& folder);
std::vector<Bytes> filled_block_seeds(const std::string& folder);
std::vector<Bytes> raw_file_seeds(const std::string& folder);
std::vector<Bytes> record_seeds(const std::string& folder);
std::vector<Bytes> texts_seeds(const std::string& folder);
std::vector<Bytes> words_seeds(const std::string& folder);
std::vector<Bytes> zarr_seeds(const std::string& folder);
std::vector<Bytes> zarr_array_seeds(const std::string& folder);
std::vector<Bytes> zarr_shard_seeds(const std::string& folder);
std::vector<Bytes> zarr_v2_seeds(const std::string& folder);

}  // namespace weir::fuzz
