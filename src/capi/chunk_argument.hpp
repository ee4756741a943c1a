// Reads the three C arguments that define an array's chunks: extents, a distribution with natural
// chunks, or a typical request.
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

// Sets `extents` to the chunk's extents, or leaves it empty if no argument is given. `reason`
// becomes a line that says why the chunks have these extents.
[[nodiscard]] Outcome read_chunks(const weir_session& session, const ChunkArguments& given,
                                  const array::Shape& shape, const array::ElementType& type,
                                  std::optional<array::Indices>& extents, std::string& reason);

}  // namespace weir::capi
