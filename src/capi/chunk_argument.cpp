#include "capi/chunk_argument.hpp"

#include <fmt/format.h>

#include <utility>

#include "array/chunk_grid.hpp"
#include "capi/extents_argument.hpp"
#include "plan/chunk_shape.hpp"

namespace weir::capi {
namespace {

Outcome read_hints(const weir_session& session, const ChunkArguments& given,
                   const array::Shape& shape, const array::ElementType& type,
                   std::optional<array::Indices>& extents, std::string& reason) {
  plan::ChunkHints hints;
  hints.typical_request = array::Indices(numbers_at(given.typical_request, shape.dimensions()));
  if (given.buffer_bytes != 0) hints.buffer_bytes = given.buffer_bytes;
  if (given.block_bytes != 0) hints.file_system_block_bytes = given.block_bytes;
  auto chosen = plan::chunk_shape_for(shape, type, hints, session.platform.rates);
  if (!chosen) return outcome_of(chosen.error(), "options.typical_request");
  extents = chosen.value().extents;
  reason = std::move(chosen).value().reason;
  return {};
}

}  // namespace

Outcome read_chunks(const weir_session& session, const ChunkArguments& given,
                    const array::Shape& shape, const array::ElementType& type,
                    std::optional<array::Indices>& extents, std::string& reason) {
  const int ways = (given.chunks != nullptr ? 1 : 0) + (given.natural_chunks != nullptr ? 1 : 0) +
                   (given.typical_request != nullptr ? 1 : 0);
  if (ways > 1) {
    return bad_argument(
        "more than one of options.chunks, natural_chunks and typical_request is given; give one");
  }
  if (given.typical_request != nullptr) {
    return read_hints(session, given, shape, type, extents, reason);
  }
  if (given.chunks != nullptr) {
    extents = array::Indices(numbers_at(given.chunks, shape.dimensions()));
    reason = "given";
  }
  if (given.natural_chunks != nullptr) {
    if (!session.holds(given.natural_chunks)) {
      return bad_argument("options.natural_chunks is not a distribution of this session");
    }
    const array::Distribution& natural = given.natural_chunks->held();
    if (natural.regular() == nullptr) {
      return bad_argument("options.natural_chunks is a distribution by boxes: give one by formats");
    }
    if (!(natural.shape() == shape)) {
      return bad_argument(
          fmt::format("options.natural_chunks has the shape {}, but the array has {}: give a "
                      "distribution of the array's shape",
                      natural.shape().text(), shape.text()));
    }
    extents = array::ChunkGrid::natural(*natural.regular()).chunk_extents();
    reason = fmt::format("natural: {}", natural.regular()->text());
  }
  if (extents) {
    const auto grid = array::ChunkGrid::create(shape, *extents);
    if (!grid) return outcome_of(grid.error(), "options.chunks");
  }
  return {};
}

}  // namespace weir::capi
