// The processors on which a process may run: one bit for each, on systems of any size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace weir::ranks {

class ProcessorSet {
 public:
  // Linux is built for 8,192 processors at most.
  static constexpr std::int64_t most_processors = 1 << 20;

  // Fills a mask of so many bytes and returns 0, or returns the reason as errno does: EINVAL where
  // the system has more processors than the mask has bits.
  using Fill = std::function<int(std::byte* mask, std::size_t bytes)>;

  // Asks with larger and larger masks, until one is large enough. The set is empty when there is
  // another reason, or when most_processors bits are not enough.
  static ProcessorSet filled_by(const Fill& fill);
  static ProcessorSet of_this_process();

  // The set as bytes, whose number may differ from process to process. Adding bytes with zeros at
  // the end changes nothing.
  [[nodiscard]] std::vector<std::byte>& mask() { return mask_; }
  [[nodiscard]] std::int64_t count() const;

 private:
  std::vector<std::byte> mask_;
};

}  // namespace weir::ranks
