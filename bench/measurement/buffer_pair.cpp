#include "measurement/buffer_pair.hpp"

#include <cstring>
#include <new>
#include <optional>
#include <string>

#include "common/checked.hpp"
#include "common/page.hpp"

namespace weir::bench {
Result<BufferPair> BufferPair::create(std::int64_t bytes_each) {
  BufferPair pair;
  const auto each = checked_round_up(bytes_each, page_bytes);
  const auto both = each ? checked_multiply(*each, 2) : std::nullopt;
  void* memory = nullptr;
  if (both) {
    memory = ::operator new (static_cast<std::size_t>(*both), std::align_val_t{page_bytes},
                             std::nothrow);
  }
  if (memory == nullptr) {
    Error error;
    error.code = ErrorCode::insufficient;
    error.message = "cannot allocate two buffers of " + std::to_string(bytes_each) + " bytes";
    return error;
  }
  std::memset(memory, 1, static_cast<std::size_t>(*both));
  pair.memory_.reset(static_cast<std::byte*>(memory));
  pair.each_ = *each;
  return pair;
}

void BufferPair::Free::operator()(std::byte* memory) const {
  ::operator delete (memory, std::align_val_t{page_bytes});
}

}  // namespace weir::bench
