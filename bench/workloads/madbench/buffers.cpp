#include "workloads/madbench/buffers.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cstring>
#include <utility>

#include "common/checked.hpp"
#include "common/page.hpp"
#include "workloads/madbench/layout.hpp"

namespace weir::bench::madbench {
Result<Buffers> Buffers::create(std::int64_t bytes) {
  Buffers buffers;
  const auto stride = checked_round_up(bytes, page_bytes);
  const auto total = stride ? checked_multiply(*stride, matrices_in_memory) : std::nullopt;
  void* memory = MAP_FAILED;
  if (total) {
    memory = mmap(nullptr, static_cast<std::size_t>(*total), PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  }
  if (memory == MAP_FAILED) {
    Error error;
    error.code = ErrorCode::insufficient;
    error.message =
        fmt::format("cannot allocate {} matrices of {} bytes", matrices_in_memory, bytes);
    return error;
  }
  std::memset(memory, 1, static_cast<std::size_t>(*total));
  buffers.base_ = static_cast<std::byte*>(memory);
  buffers.stride_ = *stride;
  return buffers;
}

Buffers::Buffers(Buffers&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)), stride_(other.stride_) {}

Buffers::~Buffers() {
  if (base_ != nullptr) munmap(base_, static_cast<std::size_t>(stride_ * matrices_in_memory));
}

}  // namespace weir::bench::madbench
