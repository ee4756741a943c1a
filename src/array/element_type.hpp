// The type of an array's elements: its kind, its size in bytes and its name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/status.hpp"

namespace weir::array {

enum class ElementKind : std::uint8_t {
  int8,
  int16,
  int32,
  int64,
  uint8,
  uint16,
  uint32,
  uint64,
  float16,
  float32,
  float64,
  complex64,   // two float32
  complex128,  // two float64
  boolean,     // one byte, 0 or 1
  record,      // a fixed number of bytes that Weir does not interpret
  text,        // a fixed number of bytes of text, usually UTF-8; shorter texts are zero-padded
  utf32,       // a fixed number of 4-byte characters; shorter texts are zero-padded
};

class ElementType {
 public:
  // `kind` is one of the kinds before `record`, whose size is fixed. The default is float64.
  ElementType(ElementKind kind = ElementKind::float64);  // NOLINT(google-explicit-constructor)

  // Returns a record of 1 to 2^30 bytes. Fails on other sizes.
  static Result<ElementType> record(std::int64_t bytes);
  // Returns text of 1 to 2^30 bytes. Fails on other sizes.
  static Result<ElementType> text(std::int64_t bytes);
  // Returns text of 1 to 2^28 characters. Fails on other sizes.
  static Result<ElementType> utf32(std::int64_t characters);

  // Parses a name that name() returns. Fails on an unknown name; the error lists the known names.
  static Result<ElementType> parse(std::string_view name);

  [[nodiscard]] ElementKind kind() const { return kind_; }
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }
  // Returns NumPy's name ("float64", "bool"); "record[24]" for a record of 24 bytes, "text[24]" for
  // text of 24 bytes, and "utf32[6]" for text of 6 characters of 4 bytes.
  [[nodiscard]] std::string name() const;

  friend bool operator==(const ElementType&, const ElementType&) = default;

 private:
  ElementType(ElementKind kind, std::int64_t bytes) : bytes_(bytes), kind_(kind) {}
  static Result<ElementType> sized(ElementKind kind, std::int64_t units);

  std::int64_t bytes_;
  ElementKind kind_;
};

}  // namespace weir::array
