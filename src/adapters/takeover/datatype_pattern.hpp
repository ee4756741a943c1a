// Describes the bytes of a datatype of MPI by a few patterns. A datatype is decoded once, from how
// it was constructed, without a list of its blocks.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <optional>

#include "array/byte_pattern.hpp"

namespace weir::takeover {

// Returns nothing if the bytes of the datatype do not ascend, if they are too many patterns, or if
// the datatype was constructed in a way that is not known here.
[[nodiscard]] std::optional<array::PatternList> patterns_of(MPI_Datatype datatype);

struct TypeSize {
  std::int64_t extent = 0;  // from one element of the datatype to the next one, in bytes
  std::int64_t bytes = 0;   // that an element has
};
// Returns nothing if MPI does not tell the size.
[[nodiscard]] std::optional<TypeSize> size_of(MPI_Datatype datatype);

// Returns the bytes of an element of a datatype that MPI has predefined, such as MPI_DOUBLE, if
// they are one block and elements follow each other; nothing if it is another one. Such a datatype
// is always committed and never freed, so that each thread remembers the last one.
[[nodiscard]] std::optional<std::int64_t> predefined_bytes(MPI_Datatype datatype);

}  // namespace weir::takeover
