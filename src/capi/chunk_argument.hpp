// The chunks of an array as C gives them: extents, a distribution's blocks, or a typical request.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "array/element_type.hpp"
#include "array/shape.hpp"
#include "capi/session.hpp"

namespace weir::capi {

struct ChunkArguments {
  const std::int64_t* chunks = nullptr;
  const weir_distribution* natural_chunks = nullptr;
  const std::int64_t* typical_request = nullptr;
  std::int64_t buffer_bytes = 0;
  std::int64_t block_bytes = 0;
};

// Nothing in `extents` when there are no chunks; `reason` says in a line why these.
[[nodiscard]] Outcome read_chunks(const weir_session& session, const ChunkArguments& given,
                                  const array::Shape& shape, const array::ElementType& type,
                                  std::optional<array::Indices>& extents, std::string& reason);

}  // namespace weir::capi
