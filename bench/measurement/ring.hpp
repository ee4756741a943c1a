// Buffers of a workload: page-aligned, used over and over, and prefaulted, as the first touch of
// memory is an order of magnitude slower.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "common/status.hpp"

namespace weir::bench {

// Gives mapped memory back to the system.
struct Unmap {
  std::size_t bytes = 0;
  void operator()(std::byte* memory) const;
};

class Ring {
 public:
  Ring() = default;  // without buffers
  // `bytes_each` is rounded up to pages. ErrorCode::insufficient where there is no memory for it.
  static Result<Ring> create(std::int64_t buffers, std::int64_t bytes_each);

  // After the last buffer the first one follows.
  [[nodiscard]] std::byte* at(std::int64_t index) const {
    return memory_.get() + index % buffers_ * bytes_each_;
  }
  [[nodiscard]] std::int64_t buffers() const { return buffers_; }
  [[nodiscard]] std::int64_t bytes_each() const { return bytes_each_; }

  // How many buffers a rank takes: `in_flight` at least, more while they fit in a megabyte and so
  // stay in the processor's cache, as an application's would.
  [[nodiscard]] static std::int64_t buffers_for(std::int64_t transfer_bytes,
                                                std::int64_t operations, std::int64_t in_flight);
  // What create() takes for them.
  [[nodiscard]] static std::int64_t memory_bytes(std::int64_t buffers, std::int64_t bytes_each);

 private:
  std::unique_ptr<std::byte, Unmap> memory_;
  std::int64_t bytes_each_ = 0;
  std::int64_t buffers_ = 0;
};

}  // namespace weir::bench
