// Large blocks of memory that a forked child does not get.
//
// After a fork the parent's pages are write-protected, and each takes a fault when it is next
// written: a program that reads a file into 100 GB of memory right after one has 25 million of
// them. A child that only looks at a file does not need the program's data.
//
// Kept back are anonymous private mappings of at least a mebibyte, but for what a thread needs to
// live: its stack, its static data, glibc's arenas. Other libraries may need more (an allocator of
// another kind keeps everything in such blocks): whoever forks is ready for a child that crashes.
// Under the sanitizers, whose child would not even crash, nothing is kept back.
#pragma once

#include <cstddef>
#include <vector>

namespace weir::storage {

// Kept back from children while this lives. Blocks that the program itself keeps back stay so.
class MemoryKeptBack {
 public:
  MemoryKeptBack();
  MemoryKeptBack(const MemoryKeptBack&) = delete;
  MemoryKeptBack& operator=(const MemoryKeptBack&) = delete;
  ~MemoryKeptBack();

  [[nodiscard]] bool any() const { return !blocks_.empty(); }

 private:
  void leave_out_those_of_others();

  struct Block {
    void* address = nullptr;
    std::size_t bytes = 0;
  };
  std::vector<Block> blocks_;
};

}  // namespace weir::storage
