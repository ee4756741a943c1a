#include "common/counted_memory.hpp"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): operator new has no other place
std::atomic<std::size_t> live = 0;
std::atomic<std::size_t> most = 0;
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

// Bytes in front of each block, which hold its size.
constexpr std::size_t header = alignof(std::max_align_t);

}  // namespace

void* operator new(std::size_t size) {
  void* const memory = std::malloc(size + header);
  if (memory == nullptr) throw std::bad_alloc();
  *static_cast<std::size_t*>(memory) = size;
  const std::size_t now = live.fetch_add(size) + size;
  std::size_t before = most.load();
  while (before < now && !most.compare_exchange_weak(before, now)) {
  }
  return static_cast<char*>(memory) + header;
}
// The sanitizers have their own of this kind, whose blocks have no header.
void* operator new(std::size_t size, const std::nothrow_t& /*tag*/) noexcept {
  try {
    return operator new(size);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void operator delete(void* memory) noexcept {
  if (memory == nullptr) return;
  void* const start = static_cast<char*>(memory) - header;
  live.fetch_sub(*static_cast<std::size_t*>(start));
  std::free(start);
}
void operator delete(void* memory, std::size_t /*size*/) noexcept { operator delete(memory); }

namespace weir {

std::size_t live_bytes() { return live.load(); }
std::size_t most_live_bytes() { return most.load(); }
void reset_most_live_bytes() { most.store(live.load()); }

}  // namespace weir
