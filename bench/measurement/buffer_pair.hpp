// Two page-aligned buffers, prefaulted: the first touch of memory is an order of magnitude slower.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "common/status.hpp"

namespace weir::bench {

class BufferPair {
 public:
  // `bytes_each` is rounded up to pages. ErrorCode::insufficient where there is no memory for it.
  static Result<BufferPair> create(std::int64_t bytes_each);
  // Of the first for even indices, of the second for odd ones.
  [[nodiscard]] std::byte* at(std::int64_t index) const {
    return memory_.get() + index % 2 * each_;
  }
  [[nodiscard]] std::int64_t bytes_each() const { return each_; }

 private:
  struct Free {
    void operator()(std::byte* memory) const;
  };
  std::unique_ptr<std::byte, Free> memory_;
  std::int64_t each_ = 0;
};

}  // namespace weir::bench
