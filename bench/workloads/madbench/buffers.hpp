// The five matrices that a rank holds (Borrill et al., section 2.2): two that are read into, two
// that are written from, and the inverse, which no transfer touches.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/status.hpp"

namespace weir::bench::madbench {

class Buffers {
 public:
  // Page-aligned and prefaulted: the first touch of memory is an order of magnitude slower.
  // `bytes` of each matrix, rounded up to whole pages.
  static Result<Buffers> create(std::int64_t bytes);
  Buffers(Buffers&& other) noexcept;
  Buffers& operator=(Buffers&&) = delete;
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;
  ~Buffers();

  // Consecutive matrices alternate between two buffers.
  [[nodiscard]] std::byte* reading(std::int64_t matrix) const { return at(matrix % 2); }
  [[nodiscard]] std::byte* writing(std::int64_t matrix) const { return at(2 + matrix % 2); }
  // Matrix `index` of the five. reading() alternates between 0 and 1, writing() between 2 and 3.
  [[nodiscard]] std::byte* at(std::int64_t index) const { return base_ + index * stride_; }

 private:
  Buffers() = default;
  std::byte* base_ = nullptr;
  std::int64_t stride_ = 0;
};

}  // namespace weir::bench::madbench
