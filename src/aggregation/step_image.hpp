// What a request moves of a stored array, as plans take it: the whole array, or one step of one
// that grows. A step is an array of its own, of one dimension less: a record, or the chunks that
// hold it.
#pragma once

#include <cstdint>
#include <optional>

#include "array/shape.hpp"
#include "common/status.hpp"
#include "plan/image.hpp"
#include "storage/formats/extent_map.hpp"

namespace weir::aggregation {

struct StepImage {
  plan::Image image;
  // File n of the image is number first_file + n of the map's, and what the image has at an offset
  // lies `base` bytes further on. Steps at equal distances then have one image, and one plan.
  std::int64_t first_file = 0;
  std::int64_t base = 0;
};

// Whether a single chunk, which is dense, may be shared out among aggregators. One that is encoded
// may not: each would write the whole chunk, with its own part and fill for the others'.
enum class Chunks : std::uint8_t { may_be_shared, are_whole };

// The shape of one step: without dimension 0, and {1} for numbers that grow.
[[nodiscard]] array::Shape step_shape(const array::Shape& whole);

// `step`: of dimension 0 of an array that grows; nothing: all of an array. Bases are multiples of
// `alignment` (>= 1). Fails on steps outside the array, on one of a column-major array, and of
// chunks that several files take in turn.
[[nodiscard]] Result<StepImage> image_of(const storage::ExtentMap& map,
                                         std::optional<std::int64_t> step, std::int64_t alignment,
                                         Chunks kept);

// Where the first byte of that lies in the map's one file; nothing: it is not dense there, or not
// in the array.
[[nodiscard]] std::optional<std::int64_t> place_of_step(const storage::ExtentMap& map, bool grows,
                                                        std::optional<std::int64_t> step);

}  // namespace weir::aggregation
