// Reading the plain arguments of C: extents, text, numbers per dimension.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "array/per_dimension.hpp"
#include "array/shape.hpp"
#include "capi/outcome.hpp"

namespace weir::capi {

// The shape given by `dimensions` numbers at `extents`; in `shape` when the outcome is well.
[[nodiscard]] Outcome read_shape(std::int32_t dimensions, const std::int64_t* extents,
                                 std::optional<array::Shape>& shape);

// `dimensions` numbers at `numbers`, which is not null and was checked to have as many.
[[nodiscard]] inline std::span<const std::int64_t> numbers_at(const std::int64_t* numbers,
                                                              int dimensions) {
  return {numbers, static_cast<std::size_t>(dimensions)};
}

// "10 x 20" for texts of calls; "(none)" when null or of a number of dimensions that cannot be.
[[nodiscard]] std::string extents_text(std::int32_t dimensions, const std::int64_t* extents);
// 'text', or (null).
[[nodiscard]] std::string quoted(const char* text);

}  // namespace weir::capi
