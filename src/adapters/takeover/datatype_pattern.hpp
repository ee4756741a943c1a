// The bytes that a datatype of MPI describes, as a few patterns: decoded once, from how the
// datatype was constructed, and not as a list of its blocks.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <optional>

#include "array/byte_pattern.hpp"

namespace weir::takeover {

// Nothing if the bytes of the datatype do not ascend, if they are too many patterns, or if it was
// constructed in a way that is not known here.
[[nodiscard]] std::optional<array::PatternList> patterns_of(MPI_Datatype datatype);

// The distance from one element of a datatype to the next one, and the bytes of one; nothing if
// they are not known.
struct TypeSize {
  std::int64_t extent = 0;
  std::int64_t bytes = 0;
};
[[nodiscard]] std::optional<TypeSize> size_of(MPI_Datatype datatype);

}  // namespace weir::takeover
