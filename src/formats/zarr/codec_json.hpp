// Codecs of bytes in the form of Zarr's documents. Codecs whose names begin with numcodecs (zfp and
// shuffling) are zarr-python's and not in the specification.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "array/element_type.hpp"
#include "codecs/codec.hpp"
#include "formats/json.hpp"

namespace weir::storage {

// Returns the form in which Zarr writes objects with a name and parameters.
[[nodiscard]] Json named(const char* name, Json configuration);

// Returns the names of the codecs that a Zarr array of Weir may have.
[[nodiscard]] std::span<const std::string_view> zarr_codecs();
// Returns these names, and those of codecs that only arrays of other programs may have.
[[nodiscard]] std::span<const std::string_view> zarr_codecs_read();

// Returns the type by NumPy's name, such as "<f8"; nothing for big-endian types and types that are
// not numbers.
[[nodiscard]] std::optional<array::ElementType> numpy_element_type(std::string_view name);

// Returns the JSON form of a codec in zarr_codecs() for an array of this type.
[[nodiscard]] Json zarr_codec(const Codec& codec, const array::ElementType& type);

// Parses a codec. Returns nothing if the codec is unknown or a parameter is invalid.
[[nodiscard]] std::optional<Codec> parse_zarr_codec(const std::string& name,
                                                    const Json& configuration);

}  // namespace weir::storage
