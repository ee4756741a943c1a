// Buffers of a workload: page-aligned, prefaulted, used over and over.
//
// Few enough to stay in the processor's cache, as an application's would; at least one for each
// transfer in flight.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/status.hpp"

namespace weir::bench {

class Ring {
 public:
  static Result<Ring> create(std::int64_t buffers, std::int64_t bytes_each);
  Ring(Ring&& other) noexcept;
  Ring& operator=(Ring&&) = delete;
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;
  ~Ring();

  [[nodiscard]] std::byte* at(std::int64_t index) const { return base_ + index * stride_; }
  [[nodiscard]] std::int64_t buffers() const { return buffers_; }

  // How many buffers a rank takes: `in_flight` at least, more while they fit in a megabyte.
  [[nodiscard]] static std::int64_t buffers_for(std::int64_t transfer_bytes,
                                                std::int64_t operations, std::int64_t in_flight);
  // What create() takes for them.
  [[nodiscard]] static std::int64_t memory_bytes(std::int64_t buffers, std::int64_t bytes_each);

 private:
  Ring() = default;
  std::byte* base_ = nullptr;
  std::int64_t stride_ = 0;
  std::int64_t buffers_ = 0;
};

}  // namespace weir::bench
