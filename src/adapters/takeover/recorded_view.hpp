// The view of a file whose calls are recorded, in which the bytes of a call are found.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "adapters/mpiio/take_over.hpp"
#include "array/byte_pattern.hpp"

namespace weir::mpiio {

// The bytes of a call.
struct RecordedBytes {
  std::int64_t offset = 0;  // of the first one
  // Empty if they are one block, else as in a line of a shape (adapters/calls/call_order.hpp).
  std::vector<std::int64_t> shape;
};

struct RecordedView {
  void change(const SetView& set);
  // The view is not known from now on.
  void forget() { view_.reset(); }
  // Returns the bytes of a call that begins `at` elements behind the beginning of the view. Nothing
  // if the view is not known, or if the bytes are more patterns than a PatternList may have.
  [[nodiscard]] std::optional<RecordedBytes> find(Offset at, std::int64_t bytes) const;

 private:
  std::optional<array::ByteView> view_ = array::ByteView();
  std::int64_t element_bytes_ = 1;
};

}  // namespace weir::mpiio
