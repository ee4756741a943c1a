// From a description to a header with places for all data, and from a header to extent maps.
#pragma once

#include <cstdint>
#include <string>

#include "storage/formats/additions.hpp"
#include "storage/formats/cdf/header.hpp"
#include "storage/formats/format.hpp"

namespace weir::storage {

// The header of a file that holds the description, in which all dimensions have names; `bytes` is
// set. Fails on what the version cannot hold: types, lengths and places of over 32 bits, more than
// one record dimension.
[[nodiscard]] Result<CdfHeader> cdf_header_of(const FileDescription& file, int version);

// The maps of a file of this length, by which records are counted where the header does not.
[[nodiscard]] FileMap cdf_map_of(const CdfHeader& header, const std::string& path,
                                 std::int64_t file_bytes);

// Where the data of so many records end. Nothing: not within 63 bits.
[[nodiscard]] std::optional<std::int64_t> cdf_data_end(const CdfHeader& header,
                                                       std::int64_t records);

// The length of a file with so many records: behind the last one is padding, where a file with one
// array of records has the first bytes of the next. Nothing: does not fit into 63 bits.
[[nodiscard]] std::optional<std::int64_t> cdf_file_bytes(const CdfHeader& header,
                                                         std::int64_t records);

// Enters arrays and attributes into the header of a file, whose arrays stay where they are: places
// for new ones are at the end. `file_bytes`: of what is committed. Fails where the header has no
// room before the first array, and where steps would have to be moved.
Status add_to_cdf_header(const Additions& added, std::int64_t file_bytes, CdfHeader& header);

}  // namespace weir::storage
