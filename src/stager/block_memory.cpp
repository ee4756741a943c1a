#include "stager/block_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "stager/scarce_memory.hpp"

namespace weir::stager {
namespace {

constexpr std::int64_t bytes_reserved_together = std::int64_t{64} << 20;

}  // namespace

BlockMemory::BlockMemory(storage::SharedMemory memory, std::int64_t blocks,
                         std::int64_t block_bytes, std::function<void(Event)> tell,
                         std::function<void(const std::string&)> say)
    : memory_(std::move(memory)),
      blocks_(blocks),
      block_bytes_(block_bytes),
      tell_(std::move(tell)),
      say_(std::move(say)),
      thread_([this] { run(); }) {}

BlockMemory::~BlockMemory() {
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    is_ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void BlockMemory::reserve_more() {
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    needs_more_ = true;
  }
  changed_.notify_all();
}

std::int64_t BlockMemory::reserved_together() const {
  return std::max<std::int64_t>(1, bytes_reserved_together / block_bytes_);
}

void BlockMemory::run() {
  const PatientMemory patient;
  const std::int64_t step = reserved_together();
  for (std::int64_t first = 0; first < blocks_; first += step) {
    {
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait(lock, [&] { return is_ending_ || needs_more_; });
      if (is_ending_) return;
      needs_more_ = false;
    }
    const std::int64_t count = std::min(step, blocks_ - first);
    Status reserved = memory_.reserve(first * block_bytes_, count * block_bytes_);
    if (!reserved.ok()) {
      say_(fmt::format("only {} of {} MiB of memory could be had: {}", first * block_bytes_ >> 20,
                       blocks_ * block_bytes_ >> 20, reserved.error().text()));
      tell_(NoMoreBlocks{});
      return;
    }
    tell_(BlocksReady{count});
  }
}

}  // namespace weir::stager
