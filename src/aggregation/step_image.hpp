// The image of what a request moves of a stored array, for use by plans: the whole array, or one
// step of an array that grows. A step is an array with one dimension less: a record, or the chunks
// that contain it.
#pragma once

#include <cstdint>
#include <optional>

#include "array/shape.hpp"
#include "common/status.hpp"
#include "plan/image.hpp"
#include "stored/extent_map.hpp"

namespace weir::aggregation {

struct StepImage {
  plan::Image image;
  // File n of the image is file first_file + n of the map, and an offset in the image is `base`
  // bytes further on in the file. Steps at equal distances therefore have equal images and a common
  // plan.
  std::int64_t first_file = 0;
  std::int64_t base = 0;
};

// Says whether a single chunk, which is dense, may be divided among aggregators. An encoded
// chunk may not: each aggregator would write the whole chunk, with its own part and the fill value
// for the others.
enum class Chunks : std::uint8_t { may_be_shared, are_whole };

// Returns the shape of one step: the shape without dimension 0, or {1} if the step is a single
// number.
[[nodiscard]] array::Shape step_shape(const array::Shape& whole);

// `step`: index along dimension 0 of an array that grows; nothing: the whole array. `base` is a
// multiple of `alignment` (>= 1). Fails if the step is outside the array, the array is
// column-major, or its chunks are distributed round-robin over several files.
[[nodiscard]] Result<StepImage> image_of(const storage::ExtentMap& map,
                                         std::optional<std::int64_t> step, std::int64_t alignment,
                                         Chunks kept);

// Returns the offset, in the map's only file, of the first byte of the array or step. Returns
// nothing if it is not dense there, or not inside the array.
[[nodiscard]] std::optional<std::int64_t> place_of_step(const storage::ExtentMap& map, bool grows,
                                                        std::optional<std::int64_t> step);

}  // namespace weir::aggregation
