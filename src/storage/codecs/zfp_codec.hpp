// zfp's header as words: where HDF5 keeps it, once per dataset, after a word of versions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/status.hpp"
#include "storage/codecs/codec.hpp"

namespace weir::storage {

// The values of HDF5's filter 32013 for chunks of this form: versions, then magic, type, extents
// (those of 1 left out) and mode. The codec was checked.
[[nodiscard]] std::vector<std::uint32_t> zfp_filter_values(const ZfpCodec& codec,
                                                           const ChunkForm& form);

// The codec by these values. Fails when they are not for chunks of this form.
[[nodiscard]] Result<ZfpCodec> parse_zfp_filter_values(std::span<const std::uint32_t> values,
                                                       const ChunkForm& form);

}  // namespace weir::storage
