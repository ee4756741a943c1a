#include "capi/region_argument.hpp"

#include <fmt/format.h>

#include <utility>

#include "array/box_list.hpp"
#include "array/explicit_distribution.hpp"
#include "capi/device_memory.hpp"
#include "capi/extents_argument.hpp"
#include "capi/memory_argument.hpp"

namespace weir::capi {
namespace {

// Converts the fields that describe the rank's memory into those of a transfer.
weir_transfer memory_of(const weir_region& given) {
  weir_transfer transfer = {};
  transfer.data = given.data;
  transfer.memory = given.memory;
  transfer.data_bytes = given.data_bytes;
  transfer.data_shape = given.data_shape;
  return transfer;
}

Outcome read_numbers(const weir_array& array, const weir_region& given, array::Section& region) {
  const int dimensions = array.shape.dimensions();
  if (given.dimensions != 0 && given.dimensions != dimensions) {
    return bad_argument(fmt::format("region.dimensions is {}: {} has {}", given.dimensions,
                                    array.text, dimensions));
  }
  if (given.lower == nullptr) return bad_argument("region.lower is null");
  if (given.extent == nullptr) return bad_argument("region.extent is null");
  const array::Indices ones(dimensions, 1);
  const auto made = array::Section::create(
      array.shape, numbers_at(given.lower, dimensions), numbers_at(given.extent, dimensions),
      numbers_at(given.stride == nullptr ? ones.begin() : given.stride, dimensions));
  if (!made) return outcome_of(made.error(), "region");
  region = made.value();
  return {};
}

}  // namespace

Outcome read_region(const weir_array& array, const weir_region* given, Direction direction,
                    Content& content, array::Section& region) {
  if (array.file == nullptr) return not_laid_out("", array);
  if (direction == Direction::write && !array.file->writable()) {
    return bad_argument(fmt::format("{} is open for reading only", array.text));
  }
  const int dimensions = array.shape.dimensions();
  region = {array::Indices(dimensions), array::Indices(dimensions), array::Indices(dimensions, 1)};
  const weir_region nothing = {};
  if (given != nullptr) {
    auto outcome = check_reserved("weir_region", std::data(given->reserved),
                                  std::size(given->reserved), given->reserved_flags);
    if (outcome.ok()) outcome = read_numbers(array, *given, region);
    if (!outcome.ok()) return outcome;
    if (given->data_type != nullptr && given->data_type != array.type_name) {
      return bad_argument(fmt::format("region.data_type is '{}': the elements of {} are {}",
                                      given->data_type, array.text, array.type_name));
    }
  }
  // The memory is that of one piece with the region's extents; the region's place does not matter.
  array::BoxList box(dimensions);
  box.push_back({array::Indices(dimensions), region.count});
  const std::int64_t one = 1;
  auto piece = array::ExplicitDistribution::create(array.shape, {&one, 1}, box);
  if (!piece) return outcome_of(piece.error(), "region");
  auto outcome =
      read_memory(memory_of(given == nullptr ? nothing : *given), direction == Direction::read,
                  array::Distribution(std::move(piece).value()), 0, array.type, content.layouts,
                  content.pieces);
  return outcome.ok() ? DeviceMemory().refuse(content.pieces) : outcome;
}

}  // namespace weir::capi
