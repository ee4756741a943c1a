// The header of NetCDF's classic formats CDF-1, CDF-2 and CDF-5, as a value; all of it is
// big-endian:
//
//     'C' 'D' 'F' version   records   dimensions   attributes   variables
//
// Lists are a tag and a count, absent ones two zeros. Counts and lengths have 32 bits, in CDF-5 64;
// offsets have 32 bits in CDF-1, 64 in the others. Names and values are padded to 4 bytes. Data of
// variables without the record dimension (the one of length 0) begin where the header says; those
// of record variables are interleaved, record by record, each padded to 4 bytes, but for a variable
// that is the only one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "array/element_type.hpp"
#include "storage/formats/file_description.hpp"

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
// A character is text of one byte.
[[nodiscard]] array::ElementType element_type(CdfType type);
// Nothing when the version has no such type.
[[nodiscard]] std::optional<CdfType> cdf_type(const array::ElementType& type, int version);

struct CdfDimension {
  std::string name;
  std::int64_t length = 0;  // 0: the record dimension
};

struct CdfAttribute {
  std::string name;
  CdfType type = CdfType::character;
  std::vector<std::byte> values;  // as in the file
};

struct CdfVariable {
  std::string name;
  std::vector<std::int64_t> dimensions;  // numbers in the header's list
  std::vector<CdfAttribute> attributes;
  CdfType type = CdfType::float64;
  std::int64_t begin = 0;  // of the first byte in the file
};

struct CdfHeader {
  int version = 5;
  // Nothing: as many as the file has room for.
  std::optional<std::int64_t> records = 0;
  std::vector<CdfDimension> dimensions;
  std::vector<CdfAttribute> attributes;
  std::vector<CdfVariable> variables;
  std::int64_t bytes = 0;  // of the header as parsed

  [[nodiscard]] bool is_record(const CdfVariable& variable) const {
    return !variable.dimensions.empty() &&
           dimensions[static_cast<std::size_t>(variable.dimensions.front())].length == 0;
  }
  // The bytes of a variable's data, or of one record of it, without padding. Nothing when they do
  // not fit into 63 bits.
  [[nodiscard]] std::optional<std::int64_t> data_bytes(const CdfVariable& variable) const;
  // From one record to the next. 0: no record variable; nothing: does not fit.
  [[nodiscard]] std::optional<std::int64_t> record_stride() const;
};

// Where the number of records stands in the file, and how it is written.
inline constexpr std::int64_t cdf_records_offset = 4;
[[nodiscard]] std::vector<std::byte> encoded_cdf_records(int version, std::int64_t records);

// The bytes of a header that came from a description.
[[nodiscard]] std::vector<std::byte> encode_cdf_header(const CdfHeader& header);

struct CdfParse {
  Result<CdfHeader> header;
  bool more_wanted = false;  // the bytes end inside the header
};
// Takes any bytes: `header` is an error for what is none. It allocates no more than a few times the
// bytes that it was given.
[[nodiscard]] CdfParse parse_cdf_header(std::span<const std::byte> bytes, const std::string& path);

// Attributes to the header's and back. Numbers of a type that the version has not get one that
// holds them all; fails where there is none, and for lists of texts.
[[nodiscard]] Result<CdfAttribute> encode_cdf_attribute(const Attribute& attribute, int version);
[[nodiscard]] Attribute decode_cdf_attribute(const CdfAttribute& attribute);

}  // namespace weir::storage
