// zfp's header as words, in the form in which HDF5 stores it once per dataset, after a word of
// versions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "codecs/codec.hpp"
#include "common/status.hpp"

namespace weir::storage {

// Returns the values of HDF5's filter 32013 for chunks of this form: versions, then magic, type,
// extents (without those of 1) and mode. The codec must have been checked.
[[nodiscard]] std::vector<std::uint32_t> zfp_filter_values(const ZfpCodec& codec,
                                                           const ChunkForm& form);

// Returns the codec with these values. Fails if they are not for chunks of this form.
[[nodiscard]] Result<ZfpCodec> parse_zfp_filter_values(std::span<const std::uint32_t> values,
                                                       const ChunkForm& form);

}  // namespace weir::storage
