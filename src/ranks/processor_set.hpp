// The set of processors on which a process may run: one bit per processor, on systems of any size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace weir::ranks {

class ProcessorSet {
 public:
  // Linux is built for at most 8,192 processors.
  static constexpr std::int64_t most_processors = 1 << 20;

  // Fills a mask of `bytes` bytes and returns 0, or returns an errno value: EINVAL if the system
  // has more processors than the mask has bits.
  using Fill = std::function<int(std::byte* mask, std::size_t bytes)>;

  // Calls `fill` with larger and larger masks until one is large enough. The set is empty if `fill`
  // fails for another reason, or if most_processors bits are not enough.
  static ProcessorSet filled_by(const Fill& fill);
  static ProcessorSet of_this_process();

  // The set as bytes. The number of bytes may differ between processes; zero bytes may be appended
  // without changing the set.
  [[nodiscard]] std::vector<std::byte>& mask() { return mask_; }
  [[nodiscard]] std::int64_t count() const;

 private:
  std::vector<std::byte> mask_;
};

}  // namespace weir::ranks
