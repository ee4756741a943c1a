#include "capi/extents_argument.hpp"

#include <fmt/format.h>

namespace weir::capi {
namespace {

bool can_be(std::int32_t dimensions) {
  return dimensions >= 1 && dimensions <= array::max_dimensions;
}

}  // namespace

Outcome read_shape(std::int32_t dimensions, const std::int64_t* extents,
                   std::optional<array::Shape>& shape) {
  if (!can_be(dimensions)) {
    return bad_argument(
        fmt::format("dimensions is {}: give 1 to {}", dimensions, array::max_dimensions));
  }
  if (extents == nullptr) return bad_argument("shape is null");
  auto made = array::Shape::create(numbers_at(extents, dimensions));
  if (!made) return outcome_of(made.error(), "shape");
  shape = made.value();
  return {};
}

std::string extents_text(std::int32_t dimensions, const std::int64_t* extents) {
  if (extents == nullptr || !can_be(dimensions)) return "(none)";
  return array::extents_text(array::Indices(numbers_at(extents, dimensions)));
}

std::string quoted(const char* text) {
  return text == nullptr ? "(null)" : fmt::format("'{}'", text);
}

}  // namespace weir::capi
