// Codecs of bytes as Zarr's documents have them. Those whose names begin with numcodecs are
// zarr-python's, not the specification's: zfp and shuffling.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "array/element_type.hpp"
#include "storage/codecs/codec.hpp"
#include "storage/json.hpp"

namespace weir::storage {

// As Zarr writes what has a name and parameters.
[[nodiscard]] Json named(const char* name, Json configuration);

// The names of the codecs that a Zarr array may have.
[[nodiscard]] std::span<const std::string_view> zarr_codecs();
// The names of the codecs that arrays of other programs may have besides.
[[nodiscard]] std::span<const std::string_view> zarr_codecs_read();

// The type by NumPy's name, as "<f8"; nothing for what is none of numbers, or big-endian.
[[nodiscard]] std::optional<array::ElementType> numpy_element_type(std::string_view name);

// A codec that is in zarr_codecs(), of an array of this type.
[[nodiscard]] Json zarr_codec(const Codec& codec, const array::ElementType& type);

// Nothing for what is none of these, or has parameters that are none.
[[nodiscard]] std::optional<Codec> parse_zarr_codec(const std::string& name,
                                                    const Json& configuration);

}  // namespace weir::storage
