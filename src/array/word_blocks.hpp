// Tables of many numbers, in immutable blocks of words without pointers. Copies of a table share
// its blocks, and a change replaces only the blocks that it affects. Processes with equal tables
// can keep the blocks once, in memory that they share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace weir::array {

class WordBlock {
 public:
  // Makes a block in memory of this process.
  explicit WordBlock(std::vector<std::int64_t> words);
  // Makes a block of words in memory that processes share.
  WordBlock(std::shared_ptr<const std::int64_t> words, std::size_t count)
      : words_(std::move(words)), count_(count), is_shared_(true) {}

  // Makes a block of which only the size is known, until WordBlocks::share_own() sets its words.
  static WordBlock missing(std::size_t count) {
    WordBlock block(nullptr, count);
    block.is_shared_ = false;
    return block;
  }

  [[nodiscard]] std::span<const std::int64_t> words() const { return {words_.get(), count_}; }
  [[nodiscard]] bool is_shared() const { return is_shared_; }

 private:
  std::shared_ptr<const std::int64_t> words_;
  std::size_t count_;
  bool is_shared_ = false;
};

class WordBlocks {
 public:
  WordBlocks() = default;
  explicit WordBlocks(std::vector<WordBlock> blocks);

  [[nodiscard]] std::size_t size() const { return blocks_ ? blocks_->size() : 0; }
  [[nodiscard]] const WordBlock& operator[](std::size_t number) const { return (*blocks_)[number]; }
  [[nodiscard]] std::span<const WordBlock> all() const {
    return blocks_ ? std::span<const WordBlock>(*blocks_) : std::span<const WordBlock>();
  }
  // Returns whether both are copies of the same value.
  [[nodiscard]] bool is_copy_of(const WordBlocks& other) const { return blocks_ == other.blocks_; }

  // Returns the size, in words, of the blocks that are in this process's own memory.
  [[nodiscard]] std::size_t own_words() const;
  // Copies these blocks to the first own_words() of `words`, without changing this value.
  void copy_own(std::span<std::int64_t> words) const;
  // Replaces these blocks by `words`, memory shared by processes, to which copy_own() of an equal
  // value, made by the same calls, was written.
  void share_own(const std::shared_ptr<const std::int64_t>& words);

 private:
  std::shared_ptr<const std::vector<WordBlock>> blocks_;  // null: no blocks
};

}  // namespace weir::array
