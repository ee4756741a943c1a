#include "array/word_blocks.hpp"

#include <algorithm>
#include <utility>

namespace weir::array {

WordBlock::WordBlock(std::vector<std::int64_t> words) : count_(words.size()) {
  const auto kept = std::make_shared<const std::vector<std::int64_t>>(std::move(words));
  words_ = std::shared_ptr<const std::int64_t>(kept, kept->data());
}

WordBlocks::WordBlocks(std::vector<WordBlock> blocks) {
  if (!blocks.empty()) {
    blocks_ = std::make_shared<const std::vector<WordBlock>>(std::move(blocks));
  }
}

std::size_t WordBlocks::own_words() const {
  std::size_t words = 0;
  for (const WordBlock& one : all()) words += one.is_shared() ? 0 : one.words().size();
  return words;
}

void WordBlocks::copy_own(std::span<std::int64_t> words) const {
  for (const WordBlock& one : all()) {
    if (one.is_shared()) continue;
    std::ranges::copy(one.words(), words.begin());
    words = words.subspan(one.words().size());
  }
}

void WordBlocks::share_own(const std::shared_ptr<const std::int64_t>& words) {
  std::vector<WordBlock> blocks;
  blocks.reserve(size());
  const std::int64_t* next = words.get();
  for (const WordBlock& one : all()) {
    if (one.is_shared()) {
      blocks.push_back(one);
      continue;
    }
    const std::size_t count = one.words().size();
    blocks.emplace_back(std::shared_ptr<const std::int64_t>(words, next), count);
    next += count;
  }
  *this = WordBlocks(std::move(blocks));
}

}  // namespace weir::array
