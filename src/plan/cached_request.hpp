// A request that was planned, to be known again: its arrays are large to compare, and thousands of
// them are mostly alike, so how they differ is kept beside them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "plan/request.hpp"

namespace weir::plan {

class CachedRequest {
 public:
  explicit CachedRequest(Request request);

  [[nodiscard]] const Request& request() const { return request_; }
  // The offset of the first byte of an array's image; nothing: the image is not dense.
  [[nodiscard]] std::optional<std::int64_t> dense_offset(std::size_t array) const {
    const std::int64_t offset = arrays_[array].offset;
    return offset < 0 ? std::nullopt : std::optional(offset);
  }
  // Whether an array is dense and asked for as the one before, and differs by its offset alone.
  [[nodiscard]] bool is_like_before(std::size_t array) const { return arrays_[array].like_before; }

 private:
  struct Glance {
    std::int64_t offset = -1;
    bool like_before = false;
  };

  Request request_;
  std::vector<Glance> arrays_;
};

}  // namespace weir::plan
