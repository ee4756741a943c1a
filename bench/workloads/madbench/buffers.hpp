// The five matrices that a rank holds (Borrill et al., section 2.2): two are the targets of reads,
// two are the sources of writes, and no transfer touches the fifth, the inverse.
#pragma once

#include <utility>

#include "measurement/ring.hpp"
#include "workloads/madbench/layout.hpp"

namespace weir::bench::madbench {

class Buffers {
 public:
  // Allocates `bytes` for each matrix, rounded up to whole pages.
  static Result<Buffers> create(std::int64_t bytes) {
    auto matrices = Ring::create(matrices_in_memory, bytes);
    if (!matrices) return matrices.error();
    return Buffers(std::move(matrices).value());
  }

  // Consecutive matrices alternate between two buffers.
  [[nodiscard]] std::byte* reading(std::int64_t matrix) const { return at(matrix % 2); }
  [[nodiscard]] std::byte* writing(std::int64_t matrix) const { return at(2 + matrix % 2); }
  // Returns matrix `index` of the five. reading() alternates between 0 and 1, writing() between 2
  // and 3.
  [[nodiscard]] std::byte* at(std::int64_t index) const { return matrices_.at(index); }

 private:
  explicit Buffers(Ring matrices) : matrices_(std::move(matrices)) {}

  Ring matrices_;
};

}  // namespace weir::bench::madbench
