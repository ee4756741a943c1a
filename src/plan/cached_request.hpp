// A request that was planned, in a form in which it can be recognized quickly. Its arrays are large
// to compare, and thousands of them mostly resemble each other, so their differences are stored
// too.
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
  // Returns the offset of the first byte of an array's image, or nothing if the image is not dense.
  [[nodiscard]] std::optional<std::int64_t> dense_offset(std::size_t array) const {
    const std::int64_t offset = arrays_[array].offset;
    return offset < 0 ? std::nullopt : std::optional(offset);
  }
  // Returns whether an array is dense and its request differs from that of the previous array only
  // by the offset.
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
