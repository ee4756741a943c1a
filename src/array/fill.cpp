#include "array/fill.hpp"

#include <algorithm>
#include <cstring>

#include "array/copy_runs.hpp"

namespace weir::array {

void fill_elements(std::byte* data, std::int64_t bytes, std::span<const std::byte> element) {
  const auto size = static_cast<std::int64_t>(element.size());
  if (size == 0 || bytes < size) {
    std::memset(data, 0, static_cast<std::size_t>(bytes));
    return;
  }
  std::memcpy(data, element.data(), element.size());
  // The filled part is copied behind itself, so that it doubles.
  for (std::int64_t done = size; done < bytes;) {
    const std::int64_t more = std::min(done, bytes - done);
    std::memcpy(data + done, data, static_cast<std::size_t>(more));
    done += more;
  }
}

void fill_target(const StridedCopy& copy, std::byte* to, std::span<const std::byte> element) {
  CopyRuns runs(copy);
  std::int64_t from = 0;
  for (std::int64_t at = 0; runs.next(from, at);) fill_elements(to + at, copy.bytes, element);
}

}  // namespace weir::array
