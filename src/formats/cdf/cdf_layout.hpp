// Makes a header with places for all data from a description, and extent maps from a header.
#pragma once

#include <cstdint>
#include <string>

#include "formats/additions.hpp"
#include "formats/cdf/header.hpp"
#include "formats/format.hpp"

namespace weir::storage {

// Returns the header, with `bytes` set, of a file that holds the description. All dimensions of the
// description have names. Fails on what the version cannot hold: types, lengths and places beyond
// 32 bits, more than one record dimension.
[[nodiscard]] Result<CdfHeader> cdf_header_of(const FileDescription& file, int version);

// Returns the maps of a file of this length, from which records are counted if the header does not
// count them.
[[nodiscard]] FileMap cdf_map_of(const CdfHeader& header, const std::string& path,
                                 std::int64_t file_bytes);

// Returns where the data of this number of records end; nothing if that exceeds 63 bits.
[[nodiscard]] std::optional<std::int64_t> cdf_data_end(const CdfHeader& header,
                                                       std::int64_t records);

// Returns the length of a file with this number of records, including the padding behind the last
// one. (In a file with a single array of records, the next record begins in that padding.) Nothing
// if it exceeds 63 bits.
[[nodiscard]] std::optional<std::int64_t> cdf_file_bytes(const CdfHeader& header,
                                                         std::int64_t records);

// Adds arrays and attributes to the header of a file. Existing arrays stay where they are; new
// arrays get places at the end. `file_bytes` is the committed length. Fails if the header has no
// room before the first array, or if steps would have to be moved.
Status add_to_cdf_header(const Additions& added, std::int64_t file_bytes, CdfHeader& header);

}  // namespace weir::storage
