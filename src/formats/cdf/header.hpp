// The header of NetCDF's classic formats CDF-1, CDF-2 and CDF-5, as a value; all of it is
// big-endian:
//
//     'C' 'D' 'F' version   records   dimensions   attributes   variables
//
// A list begins with a tag and a count; an absent list is two zeros. Counts and lengths have 32
// bits, in CDF-5 64; offsets have 32 bits in CDF-1, 64 in the other versions. Names and values are
// padded to 4 bytes. Data of variables without the record dimension (the dimension of length 0)
// begin where the header says. Data of record variables are interleaved, record by record, each
// padded to 4 bytes unless there is only one record variable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "array/element_type.hpp"
#include "stored/file_description.hpp"

namespace weir::storage {

enum class CdfType : std::uint8_t {
  int8 = 1,
  character,
  int16,
  int32,
  float32,
  float64,
  uint8,
  uint16,
  uint32,
  int64,
  uint64,
};

[[nodiscard]] std::int64_t bytes_of(CdfType type);
// Returns the element type. A character is text of one byte.
[[nodiscard]] array::ElementType element_type(CdfType type);
// Returns the type of the format; nothing if the version has no such type.
[[nodiscard]] std::optional<CdfType> cdf_type(const array::ElementType& type, int version);

struct CdfDimension {
  std::string name;
  std::int64_t length = 0;  // 0: the record dimension
};

struct CdfAttribute {
  std::string name;
  CdfType type = CdfType::character;
  std::vector<std::byte> values;  // in the file's byte order
};

struct CdfVariable {
  std::string name;
  std::vector<std::int64_t> dimensions;  // numbers in the header's list
  std::vector<CdfAttribute> attributes;
  CdfType type = CdfType::float64;
  std::int64_t begin = 0;  // offset of the first byte in the file
};

struct CdfHeader {
  int version = 5;
  // Nothing: as many records as the file's length allows.
  std::optional<std::int64_t> records = 0;
  std::vector<CdfDimension> dimensions;
  std::vector<CdfAttribute> attributes;
  std::vector<CdfVariable> variables;
  std::int64_t bytes = 0;  // length of the header as parsed

  [[nodiscard]] bool is_record(const CdfVariable& variable) const {
    return !variable.dimensions.empty() &&
           dimensions[static_cast<std::size_t>(variable.dimensions.front())].length == 0;
  }
  // Returns the bytes of a variable's data, or of one record of it, without padding; nothing if
  // they exceed 63 bits.
  [[nodiscard]] std::optional<std::int64_t> data_bytes(const CdfVariable& variable) const;
  // Returns the distance between records. 0: there is no record variable; nothing: it exceeds 63
  // bits.
  [[nodiscard]] std::optional<std::int64_t> record_stride() const;
};

// Offset of the number of records in the file, and the bytes of such a number.
inline constexpr std::int64_t cdf_records_offset = 4;
[[nodiscard]] std::vector<std::byte> encoded_cdf_records(int version, std::int64_t records);

// Returns the bytes of a header that was made from a description.
[[nodiscard]] std::vector<std::byte> encode_cdf_header(const CdfHeader& header);

struct CdfParse {
  Result<CdfHeader> header;
  bool more_wanted = false;  // the bytes end inside the header
};
// Parses any bytes; `header` is an error if they are not a header, or if the header and the map of
// its file (cdf_layout.hpp) would take more memory.
[[nodiscard]] CdfParse parse_cdf_header(std::span<const std::byte> bytes, const std::string& path,
                                        std::int64_t most_memory = INT64_MAX);

// Convert attributes to and from those of the header. Numbers of a type that the version does not
// have get a type that holds them all; it fails if there is none, and for lists of texts.
[[nodiscard]] Result<CdfAttribute> encode_cdf_attribute(const Attribute& attribute, int version);
[[nodiscard]] Attribute decode_cdf_attribute(const CdfAttribute& attribute);

}  // namespace weir::storage
