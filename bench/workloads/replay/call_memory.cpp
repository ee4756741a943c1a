#include "workloads/replay/call_memory.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace weir::bench::replay {
namespace {

constexpr std::int64_t word_bytes = sizeof(std::uint64_t);
constexpr std::int64_t least_buffer = 1 << 20;
constexpr std::byte not_read{0xa5};

std::int64_t buffer_bytes(std::int64_t largest) {
  return std::max(largest, least_buffer) + 2 * word_bytes;
}

// The words of the payload that contain some bytes of a file.
struct Words {
  std::uint64_t first;
  std::size_t count;
};
Words words_around(std::int64_t offset, std::int64_t bytes) {
  const std::int64_t first = offset / word_bytes;
  return {static_cast<std::uint64_t>(first),
          static_cast<std::size_t>((offset + bytes - 1) / word_bytes - first + 1)};
}

std::span<std::uint64_t> as_words(std::byte* memory, std::size_t count) {
  return {reinterpret_cast<std::uint64_t*>(memory), count};
}

}  // namespace

Result<CallMemory> CallMemory::create(std::int64_t largest, bool packs) {
  auto buffers = Ring::create(packs ? 2 : 1, buffer_bytes(largest));
  if (!buffers) return buffers.error();
  CallMemory memory;
  memory.buffers_ = std::move(buffers).value();
  return memory;
}

std::int64_t CallMemory::memory_bytes(std::int64_t largest, bool packs) {
  return Ring::memory_bytes(packs ? 2 : 1, buffer_bytes(largest));
}

std::int64_t CallMemory::most_bytes() const { return buffers_.bytes_each() - 2 * word_bytes; }

std::byte* CallMemory::fill(const PayloadStream& stream, std::int64_t offset, std::int64_t bytes) {
  const Words words = words_around(offset, bytes);
  fill_payload(stream, words.first, as_words(buffers_.at(0), words.count));
  return buffers_.at(0) + offset % word_bytes;
}

// Fills the words at both ends, which the block may cover only partly.
std::byte* CallMemory::hide(const PayloadStream& stream, std::int64_t offset, std::int64_t bytes) {
  const Words words = words_around(offset, bytes);
  const auto memory = as_words(buffers_.at(0), words.count);
  fill_payload(stream, words.first, memory.first(1));
  fill_payload(stream, words.first + words.count - 1, memory.last(1));
  std::byte* const begin = buffers_.at(0) + offset % word_bytes;
  // What a read does not bring must not pass for what it should have brought.
  std::fill_n(begin, bytes, not_read);
  return begin;
}

std::vector<PayloadMismatch> CallMemory::check(const PayloadStream& stream, std::int64_t offset,
                                               std::int64_t bytes, std::int64_t file_end) const {
  const Words words = words_around(offset, bytes);
  return check_payload(stream, words.first, as_words(buffers_.at(0), words.count), {},
                       static_cast<std::uint64_t>(file_end / word_bytes + 1), 1);
}

std::byte* CallMemory::of(const ReplayedCall& call) const {
  return call.shape == nullptr ? buffers_.at(0) + call.offset % word_bytes : buffers_.at(1);
}

void CallMemory::fill(const PayloadStream& stream, const ReplayedCall& call) {
  std::byte* packed = of(call);
  call.for_each_block([&](std::int64_t offset, std::int64_t bytes) {
    const std::byte* const filled = fill(stream, offset, bytes);
    if (call.shape != nullptr) packed = std::copy_n(filled, bytes, packed);
    return true;
  });
}

void CallMemory::hide(const PayloadStream& stream, const ReplayedCall& call) {
  if (call.shape != nullptr) {
    std::fill_n(of(call), call.bytes, not_read);
  } else if (call.bytes > 0) {
    hide(stream, call.offset, call.bytes);
  }
}

std::vector<PayloadMismatch> CallMemory::check(const PayloadStream& stream,
                                               const ReplayedCall& call, std::int64_t file_end) {
  const std::byte* packed = of(call);
  std::vector<PayloadMismatch> found;
  call.for_each_block([&](std::int64_t offset, std::int64_t bytes) {
    if (call.shape != nullptr) {
      std::copy_n(packed, bytes, hide(stream, offset, bytes));
      packed += bytes;
    }
    found = check(stream, offset, bytes, file_end);
    return found.empty();
  });
  return found;
}

}  // namespace weir::bench::replay
