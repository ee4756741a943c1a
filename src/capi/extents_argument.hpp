// Reads plain C arguments: extents, texts, numbers per dimension.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "array/per_dimension.hpp"
#include "array/shape.hpp"
#include "capi/outcome.hpp"

namespace weir::capi {

// Sets `shape` to the `dimensions` extents at `extents`. `shape` stays unset on failure.
[[nodiscard]] Outcome read_shape(std::int32_t dimensions, const std::int64_t* extents,
                                 std::optional<array::Shape>& shape);

// Returns the `dimensions` numbers at `numbers`, which must not be null and must point to as many.
[[nodiscard]] inline std::span<const std::int64_t> numbers_at(const std::int64_t* numbers,
                                                              int dimensions) {
  return {numbers, static_cast<std::size_t>(dimensions)};
}

// Returns "10 x 20", for the texts of calls; "(none)" if `extents` is null or `dimensions` invalid.
[[nodiscard]] std::string extents_text(std::int32_t dimensions, const std::int64_t* extents);
// Returns 'text' in quotation marks, or (null).
[[nodiscard]] std::string quoted(const char* text);

}  // namespace weir::capi
