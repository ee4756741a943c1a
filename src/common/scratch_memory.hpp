// Memory for data that are soon overwritten. Nothing is stored in it when it is made, so that its
// pages are touched only as far as data come into it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace weir {

class ScratchMemory {
 public:
  // Makes room for so many bytes. What was in the memory is lost if it has to grow.
  void make_room(std::int64_t bytes) {
    if (bytes <= bytes_) return;
    memory_ = std::make_unique_for_overwrite<std::byte[]>(  // NOLINT(modernize-avoid-c-arrays)
        static_cast<std::size_t>(bytes));
    bytes_ = bytes;
  }
  [[nodiscard]] std::byte* data() { return memory_.get(); }

 private:
  std::unique_ptr<std::byte[]> memory_;  // NOLINT(modernize-avoid-c-arrays)
  std::int64_t bytes_ = 0;
};

}  // namespace weir
