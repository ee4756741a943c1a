// HDF5's filters as codecs, by their registered numbers and the values that the registered plugins
// (including those of hdf5plugin) write and expect. The library itself never runs the filters:
// chunks are read and written as they are in the file.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "codecs/codec.hpp"
#include "formats/hdf5/library.hpp"

namespace weir::storage {

// Returns the names of the codecs that an HDF5 dataset may have.
[[nodiscard]] std::span<const std::string_view> hdf5_codecs();

// Adds the filters of a checked pipeline to the properties of a dataset to be made. Returns false
// if the library refuses a filter.
[[nodiscard]] bool set_hdf5_filters(hid_t creation, const Pipeline& pipeline,
                                    const ChunkForm& form);

// Returns the codecs of a dataset with chunks of this form (none without filters), or the reason
// why Weir cannot use them.
[[nodiscard]] std::variant<Pipeline, std::string> read_hdf5_filters(hid_t creation,
                                                                    const ChunkForm& form);

}  // namespace weir::storage
