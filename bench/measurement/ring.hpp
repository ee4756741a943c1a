// The buffers of a workload. They are page-aligned, reused in turn, and prefaulted, because the
// first touch of memory is an order of magnitude slower.
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
  Ring() = default;  // has no buffers
  // Rounds `bytes_each` up to pages. Fails with ErrorCode::insufficient if there is not enough
  // memory.
  static Result<Ring> create(std::int64_t buffers, std::int64_t bytes_each);

  // Returns a buffer; the first buffer follows the last.
  [[nodiscard]] std::byte* at(std::int64_t index) const {
    return memory_.get() + index % buffers_ * bytes_each_;
  }
  [[nodiscard]] std::int64_t buffers() const { return buffers_; }
  [[nodiscard]] std::int64_t bytes_each() const { return bytes_each_; }

  // Returns how many buffers a rank uses: at least `in_flight`, and more while they fit in a
  // megabyte and thus stay in the processor's cache, as an application's would.
  [[nodiscard]] static std::int64_t buffers_for(std::int64_t transfer_bytes,
                                                std::int64_t operations, std::int64_t in_flight);
  // Returns the memory that create() takes for them.
  [[nodiscard]] static std::int64_t memory_bytes(std::int64_t buffers, std::int64_t bytes_each);

 private:
  std::unique_ptr<std::byte, Unmap> memory_;
  std::int64_t bytes_each_ = 0;
  std::int64_t buffers_ = 0;
};

}  // namespace weir::bench
