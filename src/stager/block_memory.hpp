// The memory of a stager's blocks. A thread of its own reserves it while the stager is already at
// work, and no more than programs need.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <thread>

#include "stager/events.hpp"
#include "system/file.hpp"
#include "system/shared_memory.hpp"

namespace weir::stager {

class BlockMemory {
 public:
  // `tell` gets BlocksReady and NoMoreBlocks, and `say` lines for people, both in another thread.
  BlockMemory(storage::SharedMemory memory, std::int64_t blocks, std::int64_t block_bytes,
              std::function<void(Event)> tell, std::function<void(const std::string&)> say);
  BlockMemory(const BlockMemory&) = delete;
  BlockMemory& operator=(const BlockMemory&) = delete;
  ~BlockMemory();

  // Lets the next blocks become ready.
  void reserve_more();
  // Returns how many blocks become ready together.
  [[nodiscard]] std::int64_t reserved_together() const;

  [[nodiscard]] std::int64_t blocks() const { return blocks_; }
  [[nodiscard]] std::span<std::byte> block(std::int64_t number) const {
    return {memory_.data() + number * block_bytes_, static_cast<std::size_t>(block_bytes_)};
  }
  [[nodiscard]] std::span<std::byte> all() const {
    return {memory_.data(), static_cast<std::size_t>(blocks_ * block_bytes_)};
  }
  // Returns the file of the memory, which ranks of the node map.
  [[nodiscard]] const storage::File& file() const { return memory_.file(); }

 private:
  void run();

  storage::SharedMemory memory_;
  std::int64_t blocks_;
  std::int64_t block_bytes_;
  std::function<void(Event)> tell_;
  std::function<void(const std::string&)> say_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool needs_more_ = true;
  bool is_ending_ = false;
  std::thread thread_;
};

}  // namespace weir::stager
